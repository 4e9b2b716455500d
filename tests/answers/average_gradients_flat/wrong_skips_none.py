# finding: skipped_none
# the flat tensor is shorter on a rank without some gradient (C23)
def average_gradients_flat(model):
    params = [p for p in model.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.flatten() for p in params])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(params, flat.split([p.numel() for p in params])):
        p.grad = piece.view_as(p)
