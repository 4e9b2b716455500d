from torch.utils import _pytree


def gather(outputs, device):
    flat = [_pytree.tree_flatten(o) for o in outputs]
    columns = zip(*[leaves for leaves, _ in flat])
    merged = []
    for column in columns:
        if isinstance(column[0], torch.Tensor):
            merged.append(torch.cat([t.to(device).reshape(-1, *t.shape[1:]) if t.dim() else t.to(device)[None] for t in column]))
        else:
            merged.append(column[0])
    return _pytree.tree_unflatten(merged, flat[0][1])
