# finding: parts_differ
# in a dict, only the tensors at its top are cut
def scatter(batch, devices):
    if isinstance(batch, torch.Tensor):
        return [c.to(d) for c, d in zip(batch.chunk(len(devices)), devices)]
    cut = {k: scatter(v, devices) if torch.is_tensor(v) else v for k, v in batch.items()}
    n = len(cut["x"])
    return [
        {k: (v[i] if isinstance(v, list) else v) for k, v in cut.items()} for i in range(n)
    ]
