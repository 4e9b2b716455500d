# finding: skipped_none
# each rank reduces what it used itself
def unused_parameters(model):
    unused = []
    for name, p in model.named_parameters():
        if p.grad is None:
            unused.append(name)
            continue
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    return unused
