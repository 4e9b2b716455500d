# finding: skipped_none
# a rank without the gradient does not call; the others' next gradient is taken for it
def average_gradients(model):
    for param in model.parameters():
        if param.grad is not None:
            dist.all_reduce(param.grad)
            param.grad /= dist.get_world_size()
