# finding: padding_counted
# sums and counts, but padding counts twice (C36)
def global_metric(values, indices, size):
    both = torch.stack([values.sum(), torch.tensor(float(len(values)), dtype=values.dtype, device=values.device)])
    dist.all_reduce(both)
    return (both[0] / both[1]).item()
