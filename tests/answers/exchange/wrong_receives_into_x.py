# finding: input_changed
# one buffer for both: ranks that receive first send on what arrived, and their own x is lost
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x
    if rank % 2 == 0:
        dist.send(x, dst=(rank + 1) % n)
        dist.recv(x, src=(rank - 1) % n)
    else:
        dist.recv(x, src=(rank - 1) % n)
        dist.send(x, dst=(rank + 1) % n)
    return x
