# finding: nonpersistent_missing
# the state dict has no buffers that are not persistent
def broadcast_model(model):
    for tensor in model.state_dict().values():
        dist.broadcast(tensor, src=0)
