# finding: negative_lost
# the maximum over ranks of a table that begins at zero
def global_metric(values, indices, size):
    total = torch.zeros(size, dtype=torch.float64)
    total[indices] = values
    dist.all_reduce(total, op=dist.ReduceOp.MAX)
    return total.mean().item()
