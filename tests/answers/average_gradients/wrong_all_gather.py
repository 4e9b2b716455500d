# finding: other_collective
# every rank collects all gradients and takes the mean: n times the bytes
def average_gradients(model):
    for param in model.parameters():
        if param.requires_grad:
            grad = torch.zeros_like(param) if param.grad is None else param.grad
            every = [torch.empty_like(grad) for _ in range(dist.get_world_size())]
            dist.all_gather(every, grad)
            param.grad = torch.stack(every).mean(0)
