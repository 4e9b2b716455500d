# finding: sum_not_mean
# forgets to divide
def unused_parameters(model):
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    users = torch.tensor([float(p.grad is not None) for _, p in trained])
    dist.all_reduce(users)
    unused = []
    for (n, p), count in zip(trained, users.tolist()):
        if count == 0:
            unused.append(n)
            continue
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
    return unused
