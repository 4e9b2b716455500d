# finding: sizes_differ
# C23: receives into the first row only, having thought of a vector
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    relative, step = (rank - src) % n, 1
    while step < n:
        if relative < step:
            if relative + step < n:
                dist.send(x, (rank + step) % n)
        elif relative < 2 * step:
            dist.recv(x[0], (rank - step) % n)
        step *= 2
