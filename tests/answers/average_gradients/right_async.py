# divides first, starts all, then waits
def average_gradients(model):
    n = dist.get_world_size()
    works = []
    for param in model.parameters():
        if param.requires_grad:
            grad = param.grad if param.grad is not None else torch.zeros_like(param.data)
            param.grad = grad / n
            works.append(dist.all_reduce(param.grad, async_op=True))
    for work in works:
        work.wait()
