# finding: truncated
# the other way: everything to int64
def global_mean(values):
    total, count = values.long().sum(), torch.tensor(len(values))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total.item() / count.item()
