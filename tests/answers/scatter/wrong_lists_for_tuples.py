# finding: wrong_form
# tuples come out as lists
def scatter(batch, devices):
    if isinstance(batch, torch.Tensor):
        return [c.to(d) for c, d in zip(batch.chunk(len(devices)), devices)]
    if isinstance(batch, dict):
        return [dict(zip(batch, p)) for p in zip(*[scatter(v, devices) for v in batch.values()])]
    if isinstance(batch, (tuple, list)):
        return [list(p) for p in zip(*[scatter(v, devices) for v in batch])]
    return [batch] * len(devices)
