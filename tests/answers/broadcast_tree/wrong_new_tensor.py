# finding: not_in_place
# rebinds the name x: the caller's tensor never sees the data
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    relative, step = (rank - src) % n, 1
    while step < n:
        if relative < step:
            if relative + step < n:
                dist.send(x, (rank + step) % n)
        elif relative < 2 * step:
            arrived = torch.empty_like(x)
            dist.recv(arrived, (rank - step) % n)
            x = arrived
        step *= 2
    return x
