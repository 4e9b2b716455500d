# finding: not_a_tensor
# leaves the outputs where they are
from torch.nn.parallel import parallel_apply, replicate, scatter


def data_parallel(module, batch, devices):
    ids = [d.index for d in devices]
    pieces = scatter((batch,), ids)
    ids = ids[: len(pieces)]
    return parallel_apply(replicate(module, ids), pieces, devices=ids)
