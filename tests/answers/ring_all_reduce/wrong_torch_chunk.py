# finding: exception
# torch.chunk gives at most n chunks: 6 elements over 4 ranks are 2, 2, 2, and there is no fourth
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = x.clone(memory_format=torch.contiguous_format)
    chunks = torch.chunk(result.view(-1), n)
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
