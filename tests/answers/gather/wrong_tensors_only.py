# finding: nested_fails
# knows tensors only
def gather(outputs, device):
    return torch.cat([o.to(device) for o in outputs])
