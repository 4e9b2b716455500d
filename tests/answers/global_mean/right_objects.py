# Python's own numbers
def global_mean(values):
    pairs = [None] * dist.get_world_size()
    dist.all_gather_object(pairs, (values.sum().item(), len(values)))
    return sum(total for total, _ in pairs) / sum(count for _, count in pairs)
