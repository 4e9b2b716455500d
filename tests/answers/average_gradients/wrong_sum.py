# finding: sum_not_mean
# forgets to divide (C40)
def average_gradients(model):
    for param in model.parameters():
        if param.requires_grad:
            if param.grad is None:
                param.grad = torch.zeros_like(param)
            dist.all_reduce(param.grad)
