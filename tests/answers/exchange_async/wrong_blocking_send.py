# finding: send_send
# C25: blocking calls, send first on all ranks
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(x)
    computed = compute()
    dist.send(x, dst=(rank + 1) % n)
    dist.recv(arrived, src=(rank - 1) % n)
    x += computed + arrived
