# finding: send_send
# C25: symmetric send-first; nobody is in recv
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x
    arrived = torch.empty_like(x)
    dist.send(x, dst=(rank + 1) % n)
    dist.recv(arrived, src=(rank - 1) % n)
    return arrived
