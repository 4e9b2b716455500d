# finding: input_changed
# C27's cousin: "arrived = x" gives the tensor a second name and makes no copy
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x
    arrived = x
    if rank == 0:
        dist.recv(arrived, src=n - 1)
        dist.send(x, dst=1)
    else:
        dist.send(x, dst=(rank + 1) % n)
        dist.recv(arrived, src=rank - 1)
    return arrived
