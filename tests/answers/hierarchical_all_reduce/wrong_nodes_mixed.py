# finding: nodes_mixed
# takes rank % nodes for the node
def hierarchical_all_reduce(x, ranks_per_node):
    rank, n = dist.get_rank(), dist.get_world_size()
    count = n // ranks_per_node
    groups = [dist.new_group(list(range(k, n, count))) for k in range(count)]
    between = dist.new_group(list(range(count)))
    total = x.clone()
    dist.reduce(total, dst=rank % count, group=groups[rank % count])
    if rank < count:
        dist.all_reduce(total, group=between)
    dist.broadcast(total, src=rank % count, group=groups[rank % count])
    return total
