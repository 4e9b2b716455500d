# finding: not_averaged
# takes the minimum: only what every rank used is averaged
def unused_parameters(model):
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    used = torch.tensor([float(p.grad is not None) for _, p in trained])
    dist.all_reduce(used, op=dist.ReduceOp.MIN)
    unused = []
    for (n, p), yes in zip(trained, used.tolist()):
        if not yes:
            unused.append(n)
            continue
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    return unused
