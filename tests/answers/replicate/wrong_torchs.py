# finding: torchs_own
# torch's own replicate
def replicate(module, devices):
    return nn.parallel.replicate(module, [d.index for d in devices])
