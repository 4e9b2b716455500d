# finding: waits_early
# isend and blocking recv, as in the ring: no deadlock, and no overlap either
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        x += compute()
        return
    right, left = (rank + 1) % n, (rank - 1) % n

    arrived = torch.empty_like(x)
    sending = dist.isend(x, dst=right)
    dist.recv(arrived, src=left)
    computed = compute()
    sending.wait()
    x += computed + arrived
