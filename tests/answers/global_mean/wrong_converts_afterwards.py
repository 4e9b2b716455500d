# finding: dtypes_differ
# converts the result: the bits were mixed before
def global_mean(values):
    total, count = values.sum(), torch.tensor(len(values))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return (total.double() / count.double()).item()
