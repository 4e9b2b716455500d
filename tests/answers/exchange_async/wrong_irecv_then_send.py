# finding: waits_early
# irecv and a blocking send: this cannot deadlock, but compute() starts when the send is done
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        x += compute()
        return
    right, left = (rank + 1) % n, (rank - 1) % n

    arrived = torch.empty_like(x)
    receiving = dist.irecv(arrived, src=left)
    dist.send(x, dst=right)
    computed = compute()
    receiving.wait()
    x += computed + arrived
