# finding: used_collective
# everybody gets everything, and takes one n-th of it
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    everything = [torch.empty_like(x) for _ in range(n)]
    dist.all_gather(everything, x)
    return everything[(rank - 1) % n]
