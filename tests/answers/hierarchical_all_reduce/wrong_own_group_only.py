# finding: groups_differ
# every rank creates the group that it needs, and no other
def hierarchical_all_reduce(x, ranks_per_node):
    rank, n = dist.get_rank(), dist.get_world_size()
    leader = rank // ranks_per_node * ranks_per_node
    within = dist.new_group(list(range(leader, leader + ranks_per_node)))
    between = dist.new_group(list(range(0, n, ranks_per_node)))
    total = x.clone()
    dist.all_reduce(total, group=within)
    if rank == leader:
        dist.all_reduce(total, group=between)
    dist.broadcast(total, src=leader, group=within)
    return total
