# finding: dtypes_differ
# C24: the program as it was found
def global_mean(values):
    total, count = values.sum(), torch.tensor(len(values))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total.item() / count.item()
