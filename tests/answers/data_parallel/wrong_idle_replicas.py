# finding: idle_replicas
# a model for every device, also for those without rows
def data_parallel(module, batch, devices):
    ids = [d.index for d in devices]
    pieces = nn.parallel.scatter((batch,), ids)
    replicas = nn.parallel.replicate(module, ids)[: len(pieces)]
    outputs = nn.parallel.parallel_apply(replicas, pieces, devices=ids[: len(pieces)])
    return nn.parallel.gather(outputs, ids[0])
