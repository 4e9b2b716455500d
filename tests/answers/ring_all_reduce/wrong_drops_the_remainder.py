# finding: remainder
# numel // n: the last elements belong to no chunk
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = x.clone(memory_format=torch.contiguous_format)
    flat, size = result.view(-1), x.numel() // n
    chunks = [flat[i * size : (i + 1) * size] for i in range(n)]
    for step in range(n - 1):
        sending = dist.isend(chunks[(rank - step) % n], (rank + 1) % n)
        arrived = torch.empty_like(chunks[(rank - step - 1) % n])
        dist.recv(arrived, (rank - 1) % n)
        chunks[(rank - step - 1) % n].add_(arrived)
        sending.wait()
    for step in range(n - 1):
        sending = dist.isend(chunks[(rank + 1 - step) % n], (rank + 1) % n)
        dist.recv(chunks[(rank - step) % n], (rank - 1) % n)
        sending.wait()
    return result
