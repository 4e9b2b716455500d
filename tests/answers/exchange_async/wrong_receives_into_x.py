# finding: something_missing
# one buffer for both directions: what arrives replaces x
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        x += compute()
        return
    right, left = (rank + 1) % n, (rank - 1) % n

    out = x.clone()
    sending = dist.isend(out, dst=right)
    receiving = dist.irecv(x, src=left)
    computed = compute()
    sending.wait()
    receiving.wait()
    x += computed
