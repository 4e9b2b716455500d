# all_reduce within the node; the leaders add up at rank 0 by send and recv
def hierarchical_all_reduce(x, ranks_per_node):
    rank, n = dist.get_rank(), dist.get_world_size()
    nodes = [list(range(k, k + ranks_per_node)) for k in range(0, n, ranks_per_node)]
    groups = [dist.new_group(ranks) for ranks in nodes]
    within, leader = groups[rank // ranks_per_node], rank // ranks_per_node * ranks_per_node
    total = x.clone()
    dist.all_reduce(total, group=within)
    if rank == 0:
        for ranks in nodes[1:]:
            arrived = torch.empty_like(total)
            dist.recv(arrived, src=ranks[0])
            total += arrived
        for ranks in nodes[1:]:
            dist.send(total, dst=ranks[0])
    elif rank == leader:
        dist.send(total, dst=0)
        dist.recv(total, src=0)
    dist.broadcast(total, src=leader, group=within)
    return total
