# finding: stacked
# torch.stack: only for pieces of one size, and with a dimension too many
def gather(outputs, device):
    return torch.stack([o.to(device) for o in outputs])
