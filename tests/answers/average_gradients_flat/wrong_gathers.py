# finding: other_collective
# everybody's flat gradients to everybody
def average_gradients_flat(model):
    params = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in params])
    every = [torch.empty_like(flat) for _ in range(dist.get_world_size())]
    dist.all_gather(every, flat)
    flat = torch.stack(every).mean(0)
    for p, piece in zip(params, flat.split([p.numel() for p in params])):
        p.grad = piece.view_as(p)
