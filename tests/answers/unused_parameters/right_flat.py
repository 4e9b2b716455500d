# one flat all-reduce of gradients and flags together
def unused_parameters(model):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    parts = []
    for p in named.values():
        flag = torch.ones(1) if p.grad is not None else torch.zeros(1)
        grad = p.grad if p.grad is not None else torch.zeros_like(p)
        parts += [flag.to(grad), grad.flatten()]
    flat = torch.cat(parts)
    dist.all_reduce(flat)
    unused, at = [], 0
    for n, p in named.items():
        used, grad = flat[at], flat[at + 1 : at + 1 + p.numel()]
        at += 1 + p.numel()
        if used > 0:
            p.grad = (grad / dist.get_world_size()).view(p.shape)
        else:
            unused.append(n)
    return unused
