# finding: only_home_learns
# the module at home, deep copies elsewhere: their rows teach nobody
from torch.nn.parallel import gather, parallel_apply, scatter


def data_parallel(module, batch, devices):
    ids = [d.index for d in devices]
    pieces = scatter((batch,), ids)
    replicas = [module] + [copy.deepcopy(module).to(d) for d in devices[1 : len(pieces)]]
    return gather(parallel_apply(replicas, pieces, devices=ids[: len(pieces)]), ids[0])
