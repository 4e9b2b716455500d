# finding: sizes_differ
# C24: torch.zeros(x.shape) is float32, whatever x is; right for the first case
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        x += compute()
        return
    right, left = (rank + 1) % n, (rank - 1) % n

    arrived = torch.zeros(x.shape)
    sending = dist.isend(x, dst=right)
    receiving = dist.irecv(arrived, src=left)
    computed = compute()
    sending.wait()
    receiving.wait()
    x += (computed + arrived).to(x.dtype)
