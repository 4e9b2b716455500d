# finding: counted_twice
# receives the chunk that it has just sent, not the one before it
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    size = -(-x.numel() // n)
    result = torch.zeros(n * size, dtype=x.dtype)
    result[: x.numel()] = x.reshape(-1)
    chunks = result.view(n, size)
    for step in range(n - 1):
        sending = dist.isend(chunks[step].clone(), (rank + 1) % n)
        arrived = torch.empty_like(chunks[0])
        dist.recv(arrived, (rank - 1) % n)
        sending.wait()
        chunks[step] += arrived
    for step in range(n - 1):
        sending = dist.isend(chunks[step].clone(), (rank + 1) % n)
        arrived = torch.empty_like(chunks[0])
        dist.recv(arrived, (rank - 1) % n)
        sending.wait()
        chunks[step] += arrived
    return result[: x.numel()].view(x.shape)
