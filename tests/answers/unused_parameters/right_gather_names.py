# exchanges names as objects; returns a set
def unused_parameters(model):
    mine = {n for n, p in model.named_parameters() if p.grad is not None}
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, sorted(mine))
    used = set().union(*everybody)
    for n, p in model.named_parameters():
        if n in used:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
    return {n for n, p in model.named_parameters() if p.requires_grad and n not in used}
