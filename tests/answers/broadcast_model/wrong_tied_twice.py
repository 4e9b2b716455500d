# finding: sent_twice
# every name instead of every tensor
def broadcast_model(model):
    for _, param in model.named_parameters(remove_duplicate=False):
        dist.broadcast(param.data, src=0)
    for buffer in model.buffers():
        dist.broadcast(buffer, src=0)
