# finding: send_send
# the rule looks at the parity of n, which is the same on every rank
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x
    arrived = torch.empty_like(x)
    if n % 2 == 0 and rank % 2 == 1:
        dist.recv(arrived, src=(rank - 1) % n)
        dist.send(x, dst=(rank + 1) % n)
    else:
        dist.send(x, dst=(rank + 1) % n)
        dist.recv(arrived, src=(rank - 1) % n)
    return arrived
