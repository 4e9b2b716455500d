# finding: missing_peer
# C19: only the ranks that send reach the barrier
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    relative, step = (rank - src) % n, 1
    while step < n:
        if relative < step:
            if relative + step < n:
                dist.send(x, (rank + step) % n)
                dist.barrier()
        elif relative < 2 * step:
            dist.recv(x, (rank - step) % n)
        step *= 2
