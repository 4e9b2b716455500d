# finding: buffers_missing
# parameters only: BatchNorm's statistics stay each rank's own
def broadcast_model(model):
    for param in model.parameters():
        dist.broadcast(param.data, src=0)
