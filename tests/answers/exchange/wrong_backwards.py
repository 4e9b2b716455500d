# finding: wrong_direction
# sends to the left and receives from the right; with two ranks it cannot be told apart
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x
    arrived = torch.empty_like(x)
    if rank % 2 == 0:
        dist.send(x, dst=(rank - 1) % n)
        dist.recv(arrived, src=(rank + 1) % n)
    else:
        dist.recv(arrived, src=(rank + 1) % n)
        dist.send(x, dst=(rank - 1) % n)
    return arrived
