# finding: not_averaged
# starts it, reads at once (made sure of here by reading a copy from before)
def average_gradients_flat(model):
    params = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in params])
    before = flat.clone()
    work = dist.all_reduce(flat, async_op=True)
    for p, piece in zip(params, before.split([p.numel() for p in params])):
        p.grad = piece.view_as(p)
    work.wait()
