# finding: pieces_not_devices
# a replica for every device, whether it has rows or not (C59)
from torch.nn.parallel import gather, parallel_apply, replicate, scatter


def data_parallel(module, batch, devices):
    ids = [d.index for d in devices]
    pieces = scatter((batch,), ids)
    return gather(parallel_apply(replicate(module, ids), pieces, devices=ids), ids[0])
