# finding: rounds
# the flat broadcast: the root sends n - 1 times, one after the other
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    if rank == src:
        for other in range(n):
            if other != src:
                dist.send(x, other)
    else:
        dist.recv(x, src)
