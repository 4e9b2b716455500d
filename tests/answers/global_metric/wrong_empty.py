# finding: empty_shard
# weights the local means; the mean of nothing is nan, and nan times 0 is nan
def global_metric(values, indices, size):
    both = torch.stack([values.mean() * len(values), values.new_tensor(float(len(values)))])
    dist.all_reduce(both)
    return (both[0] / both[1]).item()
