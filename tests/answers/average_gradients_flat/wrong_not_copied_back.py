# finding: not_averaged
# torch.cat makes a copy; the gradients themselves never change
def average_gradients_flat(model):
    grads = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
    flat = torch.cat(grads)
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
