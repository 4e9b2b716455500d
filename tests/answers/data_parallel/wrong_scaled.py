# finding: scaled_gradient
# divides the gradients by the number of devices, as DDP does
from torch.nn.parallel import gather, parallel_apply, replicate, scatter


def data_parallel(module, batch, devices):
    ids = [d.index for d in devices]
    pieces = scatter((batch,), ids)
    ids = ids[: len(pieces)]
    output = gather(parallel_apply(replicate(module, ids), pieces, devices=ids), ids[0])
    output.register_hook(lambda gradient: gradient / len(devices))
    return output
