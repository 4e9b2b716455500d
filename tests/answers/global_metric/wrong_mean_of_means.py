# finding: mean_of_means
# all-reduces the local means (C42)
def global_metric(values, indices, size):
    mean = values.mean() if len(values) else values.new_zeros(())
    dist.all_reduce(mean)
    return (mean / dist.get_world_size()).item()
