# finding: wrong_root
# sends the last rank's model
def broadcast_model(model):
    src = dist.get_world_size() - 1
    for tensor in [*model.parameters(), *model.buffers()]:
        dist.broadcast(tensor.detach(), src=src)
