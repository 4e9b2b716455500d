# finding: recv_recv
# "receive before you send": now nobody sends
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x
    arrived = torch.empty_like(x)
    dist.recv(arrived, src=(rank - 1) % n)
    dist.send(x, dst=(rank + 1) % n)
    return arrived
