# finding: not_waited
# waits for what it receives, and never for what it sends
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    relative, step, handles = (rank - src) % n, 1, []
    while step < n:
        if relative < step:
            if relative + step < n:
                handles.append(dist.isend(x, (rank + step) % n))
        elif relative < 2 * step:
            dist.recv(x, (rank - step) % n)
        step *= 2
    time.sleep(0.02)
