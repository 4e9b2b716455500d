# finding: torchs_own
# torch's own, with virtual devices in place of their numbers
def parallel_apply(replicas, inputs, devices):
    return nn.parallel.parallel_apply(replicas, inputs, devices=devices)
