# finding: wrong_device
# leaves the result on the CPU
def gather(outputs, device):
    return torch.cat([o.cpu() for o in outputs])
