# finding: not_differentiable
# a forward without history
def data_parallel(module, batch, devices):
    with torch.no_grad():
        ids = [d.index for d in devices]
        pieces = nn.parallel.scatter((batch,), ids)
        ids = ids[: len(pieces)]
        replicas = nn.parallel.replicate(module, ids)
        return nn.parallel.gather(nn.parallel.parallel_apply(replicas, pieces, devices=ids), ids[0])
