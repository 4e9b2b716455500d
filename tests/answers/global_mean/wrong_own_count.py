# finding: wrong_value
# the sum over all ranks, divided by this rank's count
def global_mean(values):
    total = values.double().sum()
    dist.all_reduce(total)
    return total.item() / len(values)
