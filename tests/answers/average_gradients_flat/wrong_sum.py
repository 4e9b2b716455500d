# finding: sum_not_mean
# forgets to divide (C40)
def average_gradients_flat(model):
    params = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in params])
    dist.all_reduce(flat)
    for p, piece in zip(params, flat.split([p.numel() for p in params])):
        p.grad = piece.view_as(p)
