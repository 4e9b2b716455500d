# one message for each dtype, copied back
@torch.no_grad()
def broadcast_model(model):
    by_dtype = {}
    for tensor in [*model.parameters(), *model.buffers()]:
        by_dtype.setdefault(tensor.dtype, []).append(tensor)
    for tensors in by_dtype.values():
        flat = torch.cat([t.reshape(-1) for t in tensors])
        dist.broadcast(flat, src=0)
        start = 0
        for t in tensors:
            t.copy_(flat[start : start + t.numel()].view(t.shape))
            start += t.numel()
