# the smaller rank of each pair sends first: breaks every circle, whatever the neighbours are
def exchange(x):
    n = dist.get_world_size()
    me = dist.get_rank()
    to, source = (me + 1) % n, (me + n - 1) % n
    if to == me:
        return x
    buffer = torch.full_like(x, 0)
    if me < to:
        dist.send(x, to)
        dist.recv(buffer)
    else:
        dist.recv(buffer, src=source)
        dist.send(x, to)
    return buffer
