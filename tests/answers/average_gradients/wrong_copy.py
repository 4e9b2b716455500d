# finding: not_averaged
# the mean goes into a new tensor that nobody keeps
def average_gradients(model):
    for param in model.parameters():
        if param.requires_grad:
            grad = torch.zeros_like(param) if param.grad is None else param.grad.clone()
            dist.all_reduce(grad)
            grad /= dist.get_world_size()
