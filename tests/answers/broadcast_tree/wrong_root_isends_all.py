# finding: rounds
# n - 1 isends at once are no tree: they leave through the same link, one after the other
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    if rank == src:
        handles = [dist.isend(x, other) for other in range(n) if other != src]
        for handle in handles:
            handle.wait()
    else:
        dist.recv(x, src)
