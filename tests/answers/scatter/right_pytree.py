from torch.utils import _pytree


def scatter(batch, devices):
    leaves, form = _pytree.tree_flatten(batch)
    columns = []
    for leaf in leaves:
        if torch.is_tensor(leaf):
            columns.append([c.to(d) for c, d in zip(torch.chunk(leaf, len(devices)), devices)])
        else:
            columns.append([leaf for _ in devices])
    count = min(len(c) for c in columns)
    return [_pytree.tree_unflatten([c[i] for c in columns], form) for i in range(count)]
