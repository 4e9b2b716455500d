# finding: dtypes_differ
# C24: torch.empty(x.shape) is float32; int32 has as many bytes, so the garbage is silent
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x
    arrived = torch.empty(x.shape)
    if rank % 2 == 0:
        dist.send(x, dst=(rank + 1) % n)
        dist.recv(arrived, src=(rank - 1) % n)
    else:
        dist.recv(arrived, src=(rank - 1) % n)
        dist.send(x, dst=(rank + 1) % n)
    return arrived
