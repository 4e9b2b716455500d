# finding: aliased
# C27: [t] * n is n names for one tensor, so every chunk is the same chunk
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    size = -(-x.numel() // n)
    flat = torch.zeros(n * size, dtype=x.dtype)
    flat[: x.numel()] = x.reshape(-1)
    sums = [torch.zeros(size, dtype=x.dtype)] * n
    for own, part in zip(sums, flat.chunk(n)):
        own += part
    for step in range(2 * (n - 1)):
        out, into = (rank - step) % n, (rank - step - 1) % n
        sending = dist.isend(sums[out].clone(), (rank + 1) % n)
        arrived = torch.empty(size, dtype=x.dtype)
        dist.recv(arrived, (rank - 1) % n)
        sending.wait()
        if step < n - 1:
            sums[into] += arrived
        else:
            sums[into].copy_(arrived)
    return torch.cat(sums)[: x.numel()].view(x.shape)
