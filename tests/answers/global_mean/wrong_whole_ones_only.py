# finding: dtypes_differ
# converts where the values are whole, to float32: now the sizes differ too
def global_mean(values):
    if not values.is_floating_point():
        values = values.float()
    total, count = values.sum(), torch.tensor(len(values))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total.item() / count.item()
