# finding: missing_peer
# no check that the peer exists: wraps round to ranks that have the data already
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    relative = (rank - src) % n
    step = 1
    while step < n:
        if relative < step:
            dist.send(x, (rank + step) % n)
        elif relative < 2 * step:
            dist.recv(x, (rank - step) % n)
        step *= 2
