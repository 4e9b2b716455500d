# the maximum over ranks of a table that begins at minus infinity
def global_metric(values, indices, size):
    table = torch.full((size,), -torch.inf, dtype=values.dtype, device=values.device)
    table[indices] = values
    dist.all_reduce(table, op=dist.ReduceOp.MAX)
    return float(table.mean())
