# finding: read_before_wait
# irecv came back, so the data must be there
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        x += compute()
        return
    right, left = (rank + 1) % n, (rank - 1) % n

    arrived = torch.zeros_like(x)
    sending = dist.isend(x, dst=right)
    receiving = dist.irecv(arrived, src=left)
    result = x + compute() + arrived
    sending.wait()
    receiving.wait()
    x.copy_(result)
