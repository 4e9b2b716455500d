# finding: wrong_form
# tuples come out as lists
def gather(outputs, device):
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        parts = [o.to(device) for o in outputs]
        return torch.cat(parts) if first.dim() else torch.stack(parts)
    if isinstance(first, dict):
        return {k: gather([o[k] for o in outputs], device) for k in first}
    if isinstance(first, (tuple, list)):
        return [gather(list(p), device) for p in zip(*outputs)]
    return first
