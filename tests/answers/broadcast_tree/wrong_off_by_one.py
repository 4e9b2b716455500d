# finding: missing_peer
# "<=" where "<" belongs: rank 1 believes that it has the data and sends before it receives
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    relative, step = (rank - src) % n, 1
    while step < n:
        if relative <= step:
            if relative + step < n:
                dist.send(x, (rank + step) % n)
        elif relative < 2 * step:
            dist.recv(x, (rank - step) % n)
        step *= 2
