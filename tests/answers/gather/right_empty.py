def gather(outputs, device):
    first = outputs[0]
    if first is None:
        return None
    if isinstance(first, dict):
        return dict((k, gather([o[k] for o in outputs], device)) for k in first.keys())
    if not torch.is_tensor(first):
        return type(first)([gather(p, device) for p in zip(*outputs)])
    parts = [o.unsqueeze(0) if o.ndim == 0 else o for o in outputs]
    rows = [p.size(0) for p in parts]
    whole = parts[0].new_empty((sum(rows), *parts[0].shape[1:]), device=device)
    start = 0
    for part, n in zip(parts, rows):
        whole[start : start + n] = part.to(device)
        start += n
    return whole
