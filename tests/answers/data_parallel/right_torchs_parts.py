from torch.nn.parallel import gather, parallel_apply, replicate, scatter


def data_parallel(module, batch, devices):
    ids = [d.index for d in devices]
    pieces = scatter((batch,), ids)
    ids = ids[: len(pieces)]
    return gather(parallel_apply(replicate(module, ids), pieces, devices=ids), ids[0])
