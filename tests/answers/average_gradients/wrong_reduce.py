# finding: some_ranks
# reduce to rank 0: the others keep what they had, or partial sums (C32)
def average_gradients(model):
    for param in model.parameters():
        if param.requires_grad:
            grad = torch.zeros_like(param) if param.grad is None else param.grad
            total = grad.clone()
            dist.reduce(total, dst=0)
            param.grad = total / dist.get_world_size() if dist.get_rank() == 0 else grad
