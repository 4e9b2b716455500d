# finding: missing_peer
# a rank without samples returns before the all-reduce
def global_metric(values, indices, size):
    if len(values) == 0:
        return 0.0
    total = torch.zeros(size, dtype=torch.float64)
    seen = torch.zeros(size, dtype=torch.float64)
    total[indices] = values
    seen[indices] = 1
    dist.all_reduce(total)
    dist.all_reduce(seen)
    return (total / seen).mean().item()
