# batch_isend_irecv, and everything in one line at the end
def exchange_async(x: torch.Tensor, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    arrived = torch.zeros_like(x)
    works = []
    if n > 1:
        ops = [
            dist.P2POp(dist.isend, x, (rank + 1) % n),
            dist.P2POp(dist.irecv, arrived, (rank - 1) % n),
        ]
        works = dist.batch_isend_irecv(ops)
    computed = compute()
    for work in works:
        work.wait()
    x.add_(computed).add_(arrived)
    return x
