# finding: x_unchanged
# makes a new tensor, calls it x, and returns nothing: the result is lost
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        x = x + compute()
        return
    arrived = torch.empty_like(x)
    sending = dist.isend(x, dst=(rank + 1) % n)
    receiving = dist.irecv(arrived, src=(rank - 1) % n)
    computed = compute()
    sending.wait()
    receiving.wait()
    x = x + computed + arrived
