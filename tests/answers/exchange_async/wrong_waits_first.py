# finding: waits_early
# isend, irecv, wait, wait: nothing is under way when compute() is called
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        x += compute()
        return
    right, left = (rank + 1) % n, (rank - 1) % n

    arrived = torch.empty_like(x)
    sending = dist.isend(x, dst=right)
    receiving = dist.irecv(arrived, src=left)
    sending.wait()
    receiving.wait()
    x += compute() + arrived
