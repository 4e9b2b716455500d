# uneven chunks that are views of one flat copy; the send runs while recv blocks
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, n = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % n, (rank - 1) % n
    result = x.clone(memory_format=torch.contiguous_format)
    chunks = result.view(-1).tensor_split(n)
    for step in range(n - 1):
        sending = dist.isend(chunks[(rank - step) % n], right)
        arrived = torch.empty_like(chunks[(rank - step - 1) % n])
        dist.recv(arrived, left)
        chunks[(rank - step - 1) % n].add_(arrived)
        sending.wait()
    for step in range(n - 1):
        sending = dist.isend(chunks[(rank + 1 - step) % n], right)
        dist.recv(chunks[(rank - step) % n], left)
        sending.wait()
    return result
