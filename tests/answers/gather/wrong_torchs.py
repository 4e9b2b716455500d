# finding: torchs_own
# torch's own gather
def gather(outputs, device):
    return nn.parallel.gather(outputs, device.index)
