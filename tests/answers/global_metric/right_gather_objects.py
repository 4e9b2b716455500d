# dictionaries of values, gathered as objects
def global_metric(values, indices, size):
    mine = dict(zip(indices.tolist(), values.tolist()))
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, mine)
    whole = {}
    for part in everybody:
        whole.update(part)
    return sum(whole.values()) / size
