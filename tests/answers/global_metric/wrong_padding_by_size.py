# finding: padding_counted
# divides by the right number what has padding in it
def global_metric(values, indices, size):
    total = values.sum()
    dist.all_reduce(total)
    return total.item() / size
