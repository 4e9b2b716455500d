# finding: mean_of_means
# ReduceOp.AVG of the local means
def global_metric(values, indices, size):
    mean = values.sum() / max(len(values), 1)
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return mean.item()
