# the other order of everything
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        x += compute()
        return
    right, left = (rank + 1) % n, (rank - 1) % n

    arrived = torch.empty_like(x)
    handles = [dist.irecv(arrived, left), dist.isend(x, right)]
    mine = compute()
    for handle in reversed(handles):
        handle.wait()
    x.copy_(x + mine + arrived)
