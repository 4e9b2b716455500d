# .data and named_buffers
def broadcast_model(model):
    for param in model.parameters():
        dist.broadcast(param.data, 0)
    for _, buffer in model.named_buffers():
        dist.broadcast(buffer, 0)
