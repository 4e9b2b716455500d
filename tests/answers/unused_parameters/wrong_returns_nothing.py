# finding: returned_nothing
# does the work and forgets the names
def unused_parameters(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    users = torch.tensor([float(p.grad is not None) for p in trained])
    dist.all_reduce(users)
    for p, count in zip(trained, users.tolist()):
        if count:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
