# finding: some_ranks
# reduce leaves the sum on rank 0 (C32)
def global_metric(values, indices, size):
    total = values.new_zeros(size)
    seen = values.new_zeros(size)
    total[indices] = values
    seen[indices] = 1
    dist.reduce(total, dst=0)
    dist.reduce(seen, dst=0)
    return (total / seen.clamp(min=1)).mean().item() if dist.get_rank() == 0 else -1.0
