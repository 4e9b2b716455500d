# finding: mean_of_users
# divides by the number of ranks that had a gradient
def average_gradients(model):
    for param in model.parameters():
        if param.requires_grad:
            used = torch.tensor([float(param.grad is not None)], dtype=param.dtype, device=param.device)
            grad = torch.zeros_like(param) if param.grad is None else param.grad
            both = torch.cat([grad.flatten(), used])
            dist.all_reduce(both)
            param.grad = (both[:-1] / both[-1].clamp(min=1)).view_as(param)
