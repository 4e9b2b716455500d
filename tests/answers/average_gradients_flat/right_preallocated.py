# writes into a preallocated flat tensor; the gradients become views of it
def average_gradients_flat(model):
    params = [p for p in model.parameters() if p.requires_grad]
    flat = torch.zeros(sum(p.numel() for p in params), dtype=params[0].dtype, device=params[0].device)
    at = 0
    for p in params:
        piece = flat[at : at + p.numel()].view(p.shape)
        if p.grad is not None:
            piece.copy_(p.grad)
        p.grad = piece
        at += p.numel()
    dist.all_reduce(flat, op=dist.ReduceOp.AVG)
