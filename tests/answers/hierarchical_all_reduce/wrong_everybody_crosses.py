# finding: too_many_bytes
# all ranks know their node's sum, and all of them exchange it
def hierarchical_all_reduce(x, ranks_per_node):
    rank, n = dist.get_rank(), dist.get_world_size()
    nodes = [list(range(k, k + ranks_per_node)) for k in range(0, n, ranks_per_node)]
    groups = [dist.new_group(ranks) for ranks in nodes]
    across = [dist.new_group(list(range(k, n, ranks_per_node))) for k in range(ranks_per_node)]
    total = x.clone()
    dist.all_reduce(total, group=groups[rank // ranks_per_node])
    dist.all_reduce(total, group=across[rank % ranks_per_node])
    return total
