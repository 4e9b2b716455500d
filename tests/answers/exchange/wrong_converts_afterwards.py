# finding: dtypes_differ
# C24: receives into float32 and converts the garbage to x's dtype afterwards
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
    return arrived.to(x.dtype)
