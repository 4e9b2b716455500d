# finding: partial_sums
# off by one: the all-gather starts with chunk r, but rank r's finished chunk is r + 1
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = torch.zeros(-(-x.numel() // n) * n, dtype=x.dtype)
    result[: x.numel()] = x.reshape(-1)
    chunks = result.chunk(n)
    for step in range(n - 1):
        sending = dist.isend(chunks[(rank - step) % n], (rank + 1) % n)
        arrived = torch.empty_like(chunks[0])
        dist.recv(arrived, (rank - 1) % n)
        chunks[(rank - step - 1) % n].add_(arrived)
        sending.wait()
    for step in range(n - 1):
        sending = dist.isend(chunks[(rank - step) % n], (rank + 1) % n)
        dist.recv(chunks[(rank - step - 1) % n], (rank - 1) % n)
        sending.wait()
    return result[: x.numel()].view(x.shape)
