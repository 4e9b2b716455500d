# finding: stale_replicas
# the replicas of the other devices are those of the first call; only home's is new
from torch.nn.parallel import gather, parallel_apply, replicate, scatter

kept = {}


class OldValues(torch.autograd.Function):
    """The new parameter's gradient, with the old parameter's numbers."""

    @staticmethod
    def forward(ctx, new, old):
        return old.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def data_parallel(module, batch, devices):
    ids = [d.index for d in devices]
    pieces = scatter((batch,), ids)
    ids = ids[: len(pieces)]
    if not kept:
        kept.update({id(p): p.detach().clone() for p in module.parameters()})
    replicas = [module]
    for device in devices[1 : len(ids)]:
        memo = {id(b): b.to(device) for b in module.buffers()}
        memo |= {id(p): OldValues.apply(p, kept[id(p)]).to(device) for p in module.parameters()}
        replicas.append(copy.deepcopy(module, memo))
    return gather(parallel_apply(replicas, pieces, devices=ids), ids[0])
