# finding: wrong_value
# a line and no ring: the last rank sends to nobody, and rank 0 returns an empty buffer
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    arrived = torch.zeros_like(x)
    if rank % 2 == 0:
        if rank + 1 < n:
            dist.send(x, rank + 1)
        if rank > 0:
            dist.recv(arrived, rank - 1)
    else:
        dist.recv(arrived, rank - 1)
        if rank + 1 < n:
            dist.send(x, rank + 1)
    return arrived
