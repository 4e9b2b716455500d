# finding: scalars_merged
# the mean of scalars, as if every device had as many rows (C58)
def gather(outputs, device):
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        parts = [o.to(device) for o in outputs]
        return torch.cat(parts) if first.dim() else torch.stack(parts).mean()
    if isinstance(first, dict):
        return {k: gather([o[k] for o in outputs], device) for k in first}
    if isinstance(first, (tuple, list)):
        return type(first)(gather(list(p), device) for p in zip(*outputs))
    return first
