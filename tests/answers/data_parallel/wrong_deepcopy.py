# finding: not_differentiable
# replicas by deepcopy
from torch.nn.parallel import gather, parallel_apply, scatter


def data_parallel(module, batch, devices):
    ids = [d.index for d in devices]
    pieces = scatter((batch,), ids)
    replicas = [copy.deepcopy(module).to(d) for d in devices[: len(pieces)]]
    return gather(parallel_apply(replicas, pieces, devices=ids[: len(pieces)]), ids[0])
