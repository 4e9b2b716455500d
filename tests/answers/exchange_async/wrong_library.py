# finding: used_collective
# an asynchronous all_gather overlaps as well, and brings n times what is needed
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    everybody = [torch.empty_like(x) for _ in range(n)]
    handle = dist.all_gather(everybody, x, async_op=True)
    computed = compute()
    handle.wait()
    x += computed
    if n > 1:
        x += everybody[rank - 1]
