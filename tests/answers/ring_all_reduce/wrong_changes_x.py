# finding: input_changed
# flatten() of a contiguous tensor is the tensor itself: the caller's gradients are overwritten
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.flatten()
    chunks = flat.tensor_split(n)
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
    return flat.view(x.shape)
