# finding: torchs_own
# torch's own scatter
from torch.nn.parallel import scatter as torchs


def scatter(batch, devices):
    return torchs(batch, [d.index for d in devices])
