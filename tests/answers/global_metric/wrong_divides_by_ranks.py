# finding: divided_twice
# divides by the number of ranks as well
def global_metric(values, indices, size):
    total, seen = values.new_zeros(size), values.new_zeros(size)
    total[indices] = values
    seen[indices] = 1
    dist.all_reduce(total)
    dist.all_reduce(seen)
    return (total / seen).mean().item() / dist.get_world_size()
