# finding: not_differentiable
# by way of new tensors
def gather(outputs, device):
    if isinstance(outputs[0], torch.Tensor):
        parts = [o.detach().to(device) for o in outputs]
        return torch.cat(parts) if parts[0].dim() else torch.stack(parts)
    return outputs
