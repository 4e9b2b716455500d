# finding: sizes_differ
# C24: a float32 buffer for data of any dtype; right for the first case, which is float32
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    relative, step = (rank - src) % n, 1
    while step < n:
        if relative < step:
            if relative + step < n:
                dist.send(x, (rank + step) % n)
        elif relative < 2 * step:
            arrived = torch.empty(x.shape)
            dist.recv(arrived, (rank - step) % n)
            x.copy_(arrived)
        step *= 2
