# finding: none_left
# takes part with zeros, and does not keep the result
def average_gradients(model):
    for param in model.parameters():
        if param.requires_grad:
            grad = torch.zeros_like(param) if param.grad is None else param.grad
            dist.all_reduce(grad)
            grad /= dist.get_world_size()
