# finding: wrong_pieces
# pieces of other sizes than torch.chunk's
from torch.nn.parallel import gather, parallel_apply, replicate


def data_parallel(module, batch, devices):
    pieces = [p.to(d) for p, d in zip(batch.tensor_split(len(devices)), devices) if len(p)]
    ids = [d.index for d in devices][: len(pieces)]
    inputs = [(p,) for p in pieces]
    return gather(parallel_apply(replicate(module, ids), inputs, devices=ids), ids[0])
