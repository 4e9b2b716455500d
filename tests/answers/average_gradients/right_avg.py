# ReduceOp.AVG (C29: right for floats on gloo in the pinned torch)
def average_gradients(model):
    for param in model.parameters():
        if not param.requires_grad:
            continue
        grad = torch.zeros_like(param) if param.grad is None else param.grad
        dist.all_reduce(grad, op=dist.ReduceOp.AVG)
        param.grad = grad
