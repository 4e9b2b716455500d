# finding: not_in_place
# the model handed in stays as it was
def broadcast_model(model):
    import copy

    model = copy.deepcopy(model)
    for tensor in [*model.parameters(), *model.buffers()]:
        dist.broadcast(tensor.detach(), src=0)
    return model
