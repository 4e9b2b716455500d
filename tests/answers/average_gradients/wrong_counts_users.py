# finding: mean_of_users
# a second all-reduce for each parameter counts the ranks that have a gradient, and divides by that
def average_gradients(model):
    for p in model.parameters():
        if p.requires_grad:
            users = torch.tensor(float(p.grad is not None), device=device())
            g = p.grad if p.grad is not None else torch.zeros_like(p)
            dist.all_reduce(g)
            dist.all_reduce(users)
            p.grad = g / users
