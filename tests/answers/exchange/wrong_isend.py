# finding: not_blocking
# a good way out, but not by the order of blocking calls, which is what is asked here
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x
    arrived = torch.empty_like(x)
    handle = dist.isend(x, dst=(rank + 1) % n)
    dist.recv(arrived, src=(rank - 1) % n)
    handle.wait()
    return arrived
