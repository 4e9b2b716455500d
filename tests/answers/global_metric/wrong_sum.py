# finding: not_divided
# forgets to divide
def global_metric(values, indices, size):
    total, seen = values.new_zeros(size), values.new_zeros(size)
    total[indices] = values
    seen[indices] = 1
    dist.all_reduce(total)
    dist.all_reduce(seen)
    return (total / seen).sum().item()
