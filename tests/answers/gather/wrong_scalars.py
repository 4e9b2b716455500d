# finding: scalars_fail
# torch.cat refuses scalars (C58)
def gather(outputs, device):
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        return torch.cat([o.to(device) for o in outputs])
    if isinstance(first, dict):
        return {k: gather([o[k] for o in outputs], device) for k in first}
    if isinstance(first, (tuple, list)):
        return type(first)(gather(list(p), device) for p in zip(*outputs))
    return first
