# finding: not_averaged
# rank 0's use is taken for everybody's
def unused_parameters(model):
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    used = torch.tensor([float(p.grad is not None) for _, p in trained])
    dist.broadcast(used, src=0)
    unused = []
    for (n, p), yes in zip(trained, used.tolist()):
        if not yes:
            unused.append(n)
            continue
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    return unused
