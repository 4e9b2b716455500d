# sends a copy, so that x may be written into at once
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        x += compute()
        return
    right, left = (rank + 1) % n, (rank - 1) % n

    out, arrived = x.clone(), torch.empty_like(x)
    sending = dist.isend(out, dst=right)
    receiving = dist.irecv(arrived, src=left)
    x += compute()
    receiving.wait()
    x += arrived
    sending.wait()
