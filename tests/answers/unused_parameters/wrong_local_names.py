# finding: local_names
# returns what this rank did not use
def unused_parameters(model):
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    own = [n for n, p in trained if p.grad is None]
    users = torch.tensor([float(p.grad is not None) for _, p in trained])
    dist.all_reduce(users)
    for (_, p), count in zip(trained, users):
        if count > 0:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
    return own
