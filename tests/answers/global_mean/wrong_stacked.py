# finding: dtypes_differ
# one tensor, in the dtype of this rank's values
def global_mean(values):
    pair = torch.stack([values.sum(), torch.tensor(len(values), dtype=values.dtype)])
    dist.all_reduce(pair)
    return (pair[0] / pair[1]).item()
