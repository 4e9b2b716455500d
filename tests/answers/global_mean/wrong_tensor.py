# finding: wrong_type
# forgets .item()
def global_mean(values):
    total, count = values.double().sum(), torch.tensor(len(values)).double()
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count
