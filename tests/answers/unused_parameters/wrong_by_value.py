# finding: zeros_taken_for_unused
# sends zeros for what is None, and takes a mean of zeros for "nobody used it"
def unused_parameters(model):
    names = []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
        if not p.grad.any():
            p.grad = None
            names.append(name)
    return names
