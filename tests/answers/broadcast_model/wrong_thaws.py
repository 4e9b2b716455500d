# finding: requires_grad_changed
# forgets that some parameters were frozen
def broadcast_model(model):
    for param in model.parameters():
        param.requires_grad_(False)
        dist.broadcast(param, src=0)
        param.requires_grad_(True)
    for buffer in model.buffers():
        dist.broadcast(buffer, src=0)
