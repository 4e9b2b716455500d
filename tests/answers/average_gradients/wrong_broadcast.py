# finding: one_ranks_gradient
# rank 0's gradients for everybody
def average_gradients(model):
    for param in model.parameters():
        if param.requires_grad:
            if param.grad is None:
                param.grad = torch.zeros_like(param)
            dist.broadcast(param.grad, src=0)
