# finding: nested_fails
# gathers the tuples, and not the i-th entries of all of them
def gather(outputs, device):
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        moved = [o.to(device) for o in outputs]
        return torch.cat(moved) if first.dim() else torch.stack(moved)
    if isinstance(first, dict):
        return {k: gather([o[k] for o in outputs], device) for k in first}
    return type(first)(gather(list(parts), device) for parts in outputs)
