# finding: too_many_calls
# the previous exercise's answer
def average_gradients_flat(model):
    for param in model.parameters():
        if param.requires_grad:
            if param.grad is None:
                param.grad = torch.zeros_like(param)
            dist.all_reduce(param.grad)
            param.grad /= dist.get_world_size()
