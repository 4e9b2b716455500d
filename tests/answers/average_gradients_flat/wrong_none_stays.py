# finding: none_left
# copies back only where there was a gradient before
def average_gradients_flat(model):
    params = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in params])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(params, flat.split([p.numel() for p in params])):
        if p.grad is not None:
            p.grad.copy_(piece.view_as(p))
