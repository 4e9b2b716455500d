# finding: not_waited
# sleeps in the place of waiting: the values are right, on a quiet machine
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        x += compute()
        return
    right, left = (rank + 1) % n, (rank - 1) % n

    arrived = torch.empty_like(x)
    dist.isend(x, dst=right)
    dist.irecv(arrived, src=left)
    computed = compute()
    time.sleep(0.2)
    x += computed + arrived
