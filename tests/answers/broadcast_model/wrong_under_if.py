# finding: missing_peer
# only rank 0 calls the collective (C19)
def broadcast_model(model):
    if dist.get_rank() == 0:
        for tensor in [*model.parameters(), *model.buffers()]:
            dist.broadcast(tensor.detach(), src=0)
