# finding: one_after_another
# one replica after the other
from torch.nn.parallel import gather, replicate, scatter


def data_parallel(module, batch, devices):
    ids = [d.index for d in devices]
    pieces = scatter(batch, ids)
    replicas = replicate(module, ids[: len(pieces)])
    return gather([r(p) for r, p in zip(replicas, pieces)], ids[0])
