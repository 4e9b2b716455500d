def scatter(batch, devices):
    rows = count_rows(batch)
    size = math.ceil(rows / len(devices))
    starts = range(0, rows, size)
    return [cut(batch, s, s + size, d) for s, d in zip(starts, devices)]


def count_rows(value):
    if isinstance(value, torch.Tensor):
        return value.shape[0]
    items = value.values() if isinstance(value, dict) else value
    for item in items if isinstance(value, (dict, list, tuple)) else ():
        found = count_rows(item)
        if found is not None:
            return found
    return None


def cut(value, start, end, device):
    if isinstance(value, torch.Tensor):
        return value[start:end].to(device)
    if isinstance(value, dict):
        return {k: cut(v, start, end, device) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(cut(v, start, end, device) for v in value)
    if isinstance(value, list):
        return [cut(v, start, end, device) for v in value]
    return value
