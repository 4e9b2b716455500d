# finding: plain_value
# a list of one, for what is no tensor
def scatter(batch, devices):
    if isinstance(batch, torch.Tensor):
        return [c.to(d) for c, d in zip(batch.chunk(len(devices)), devices)]
    if isinstance(batch, dict):
        parts = {k: scatter(v, devices) for k, v in batch.items()}
        count = max(len(v) for v in parts.values())
        return [{k: v[i] for k, v in parts.items()} for i in range(count)]
    if isinstance(batch, (tuple, list)):
        return [type(batch)(parts) for parts in zip(*(scatter(item, devices) for item in batch))]
    return [batch]
