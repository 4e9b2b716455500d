# finding: frozen_missing
# what is not trained is not sent
def broadcast_model(model):
    for param in model.parameters():
        if param.requires_grad:
            dist.broadcast(param.data, src=0)
    for buffer in model.buffers():
        dist.broadcast(buffer, src=0)
