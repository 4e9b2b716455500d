# finding: wrong_type
# recv fills its buffer and returns the sender's rank; this takes that for the data
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x
    arrived = torch.empty_like(x)
    if rank % 2 == 0:
        dist.send(x, dst=(rank + 1) % n)
        data = dist.recv(arrived, src=(rank - 1) % n)
    else:
        data = dist.recv(arrived, src=(rank - 1) % n)
        dist.send(x, dst=(rank + 1) % n)
    return data
