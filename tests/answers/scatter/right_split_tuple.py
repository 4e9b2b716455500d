def scatter(batch, devices):
    def parts(value):
        if isinstance(value, torch.Tensor):
            size = -(-len(value) // len(devices))
            return tuple(p.to(devices[i]) for i, p in enumerate(value.split(size)))
        if isinstance(value, dict):
            inner = {key: parts(v) for key, v in value.items()}
            return tuple({k: v[i] for k, v in inner.items()} for i in range(min(map(len, inner.values()))))
        if isinstance(value, (list, tuple)):
            return tuple(type(value)(p) for p in zip(*map(parts, value)))
        return (value,) * len(devices)

    return parts(batch)
