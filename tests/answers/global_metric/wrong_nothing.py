# finding: returned_nothing
# prints instead of returning
def global_metric(values, indices, size):
    total, seen = values.new_zeros(size), values.new_zeros(size)
    total[indices] = values
    seen[indices] = 1
    dist.all_reduce(total)
    dist.all_reduce(seen)
    if dist.get_rank() == 0:
        print((total / seen).mean().item())
