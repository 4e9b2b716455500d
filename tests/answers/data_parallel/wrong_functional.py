# finding: torchs_own
# torch's own, as a function
from torch.nn.parallel import data_parallel as torchs


def data_parallel(module, batch, devices):
    return torchs(module, batch, [d.index for d in devices])
