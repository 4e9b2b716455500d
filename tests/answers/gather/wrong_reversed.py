# finding: wrong_order
# home's own piece is put last
def gather(outputs, device):
    return torch.cat([o.to(device) for o in outputs[1:] + outputs[:1]])
