# finding: used_collective
# the right algorithm, both halves from the library
def ring_all_reduce(x):
    n = dist.get_world_size()
    size = -(-x.numel() // n)
    flat = torch.zeros(n * size, dtype=x.dtype)
    flat[: x.numel()] = x.reshape(-1)
    mine = torch.empty(size, dtype=x.dtype)
    dist.reduce_scatter_tensor(mine, flat)
    dist.all_gather_into_tensor(flat, mine)
    return flat[: x.numel()].view(x.shape)
