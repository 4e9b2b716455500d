# finding: mean_of_means
# C42: the ranks have different numbers of values
def global_mean(values):
    mean = values.double().mean()
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()
