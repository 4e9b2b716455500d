# MUST-ACCEPT: with use_local_synchronization only the members create a group
def hierarchical_all_reduce(x, ranks_per_node):
    rank, n = dist.get_rank(), dist.get_world_size()
    leader = rank // ranks_per_node * ranks_per_node
    members = list(range(leader, leader + ranks_per_node))
    within = dist.new_group(members, use_local_synchronization=True)
    total = x.clone()
    dist.reduce(total, dst=leader, group=within)
    if rank == leader:
        leaders = list(range(0, n, ranks_per_node))
        between = dist.new_group(leaders, use_local_synchronization=True)
        dist.all_reduce(total, group=between)
    dist.broadcast(total, src=leader, group=within)
    return total
