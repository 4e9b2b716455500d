# averages everything with zeros, and then takes away what nobody used
def unused_parameters(model):
    n = dist.get_world_size()
    names = []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        used = torch.tensor(int(p.grad is not None), device=p.device)
        dist.all_reduce(used, op=dist.ReduceOp.MAX)
        grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(grad)
        p.grad = grad / n if used else None
        if not used:
            names.append(name)
    return names
