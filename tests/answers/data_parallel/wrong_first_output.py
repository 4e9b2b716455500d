# finding: rows_lost
# returns the first replica's output
from torch.nn.parallel import parallel_apply, replicate, scatter


def data_parallel(module, batch, devices):
    ids = [d.index for d in devices]
    pieces = scatter((batch,), ids)
    ids = ids[: len(pieces)]
    return parallel_apply(replicate(module, ids), pieces, devices=ids)[0]
