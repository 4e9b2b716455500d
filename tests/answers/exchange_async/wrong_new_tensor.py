# finding: not_in_place
# x = x + ... makes a new tensor; the caller's x stays as it was
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x + compute()
    arrived = torch.empty_like(x)
    sending = dist.isend(x, dst=(rank + 1) % n)
    receiving = dist.irecv(arrived, src=(rank - 1) % n)
    computed = compute()
    sending.wait()
    receiving.wait()
    x = x + computed + arrived
    return x
