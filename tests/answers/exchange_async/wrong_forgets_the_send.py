# finding: not_waited
# waits for what arrives, and throws the handle of isend away
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        x += compute()
        return
    right, left = (rank + 1) % n, (rank - 1) % n

    arrived = torch.empty_like(x)
    dist.isend(x, dst=right)
    receiving = dist.irecv(arrived, src=left)
    computed = compute()
    receiving.wait()
    time.sleep(0.1)
    x += computed + arrived
