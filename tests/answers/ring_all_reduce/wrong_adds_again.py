# finding: counted_twice
# one loop of 2(n - 1) steps that always adds: finished chunks are added to partial ones
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = x.clone(memory_format=torch.contiguous_format)
    chunks = result.view(-1).tensor_split(n)
    for step in range(2 * (n - 1)):
        sending = dist.isend(chunks[(rank - step) % n], (rank + 1) % n)
        arrived = torch.empty_like(chunks[(rank - step - 1) % n])
        dist.recv(arrived, (rank - 1) % n)
        chunks[(rank - step - 1) % n].add_(arrived)
        sending.wait()
    return result
