# finding: not_averaged
# takes the parameter for the gradient (a published minimal DDP does)
def average_gradients(model):
    for param in model.parameters():
        if param.requires_grad:
            dist.all_reduce(param.data)
            param.data /= dist.get_world_size()
