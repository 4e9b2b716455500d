# finding: frozen_named
# counts frozen parameters as unused
def unused_parameters(model):
    named = list(model.named_parameters())
    users = torch.tensor([float(p.grad is not None) for _, p in named])
    dist.all_reduce(users)
    unused = []
    for (n, p), count in zip(named, users.tolist()):
        if count == 0:
            unused.append(n)
            continue
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    return unused
