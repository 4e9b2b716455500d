# finding: tied_twice
# goes through names instead of tensors
def average_gradients(model):
    n = dist.get_world_size()
    for _, param in model.named_parameters(remove_duplicate=False):
        if param.requires_grad:
            if param.grad is None:
                param.grad = torch.zeros_like(param)
            dist.all_reduce(param.grad)
            param.grad /= n
