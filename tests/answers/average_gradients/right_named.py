# named_parameters, sorted by name: the same order on all ranks
def average_gradients(model):
    world = float(dist.get_world_size())
    for name, p in sorted(model.named_parameters()):
        if p.requires_grad:
            g = p.new_zeros(p.shape) if p.grad is None else p.grad.detach().clone()
            dist.all_reduce(g)
            p.grad = g.div_(world)
