# finding: wrong_shape
# pads to a multiple of n and returns the padding too
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
        sending = dist.isend(chunks[(rank + 1 - step) % n], (rank + 1) % n)
        dist.recv(chunks[(rank - step) % n], (rank - 1) % n)
        sending.wait()
    return result
