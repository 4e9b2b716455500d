# finding: send_send
# C25: all ranks send a chunk first, with the blocking send
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = x.clone(memory_format=torch.contiguous_format)
    chunks = result.view(-1).tensor_split(n)
    for step in range(n - 1):
        dist.send(chunks[(rank - step) % n], (rank + 1) % n)
        arrived = torch.empty_like(chunks[(rank - step - 1) % n])
        dist.recv(arrived, (rank - 1) % n)
        chunks[(rank - step - 1) % n].add_(arrived)
    for step in range(n - 1):
        dist.send(chunks[(rank + 1 - step) % n], (rank + 1) % n)
        dist.recv(chunks[(rank - step) % n], (rank - 1) % n)
    return result
