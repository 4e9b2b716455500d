# finding: torchs_own
# torch's own
from torch.nn.parallel import parallel_apply as torchs


def parallel_apply(replicas, inputs, devices):
    return torchs(replicas, inputs, devices=[d.index for d in devices])
