# finding: frozen_reduced
# frozen parameters get a gradient of zeros
def average_gradients(model):
    for param in model.parameters():
        if param.grad is None:
            param.grad = torch.zeros_like(param)
        dist.all_reduce(param.grad)
        param.grad /= dist.get_world_size()
