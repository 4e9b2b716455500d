# all started, then all waited for; received into fresh tensors
def broadcast_model(model):
    pending = []
    for tensor in [p.detach() for p in model.parameters()] + list(model.buffers()):
        copy = tensor.clone()
        pending.append((tensor, copy, dist.broadcast(copy, 0, async_op=True)))
    for tensor, copy, work in pending:
        work.wait()
        tensor.copy_(copy)
