# finding: counted_twice
# all-reduces within the node at the end, where a broadcast belongs
def hierarchical_all_reduce(x, ranks_per_node):
    rank, n = dist.get_rank(), dist.get_world_size()
    nodes = [list(range(k, k + ranks_per_node)) for k in range(0, n, ranks_per_node)]
    groups = [dist.new_group(ranks) for ranks in nodes]
    leaders = [ranks[0] for ranks in nodes]
    between = dist.new_group(leaders)
    within, leader = groups[rank // ranks_per_node], leaders[rank // ranks_per_node]
    total = x.clone()
    dist.all_reduce(total, group=within)
    if rank == leader:
        dist.all_reduce(total, group=between)
    dist.all_reduce(total, group=within)
    return total
