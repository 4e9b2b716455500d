# finding: averaged
# "all must be equal" solved by a mean
def broadcast_model(model):
    for param in model.parameters():
        dist.all_reduce(param.data)
        param.data /= dist.get_world_size()
    for buffer in model.buffers():
        dist.broadcast(buffer, src=0)
