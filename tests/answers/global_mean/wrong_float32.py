# finding: rounded
# .float() is one dtype for all as well, and too short
def global_mean(values):
    total, count = values.float().sum(), torch.tensor(len(values))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total.item() / count.item()
