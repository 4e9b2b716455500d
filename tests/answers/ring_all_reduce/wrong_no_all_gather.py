# finding: no_all_gather
# stops after the reduce-scatter: each rank has one finished chunk
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = x.clone(memory_format=torch.contiguous_format)
    chunks = result.view(-1).tensor_split(n)
    for step in range(n - 1):
        sending = dist.isend(chunks[(rank - step) % n], (rank + 1) % n)
        arrived = torch.empty_like(chunks[(rank - step - 1) % n])
        dist.recv(arrived, (rank - 1) % n)
        chunks[(rank - step - 1) % n].add_(arrived)
        sending.wait()
    return result
