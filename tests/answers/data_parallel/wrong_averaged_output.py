# finding: scaled_output
# divides what is gathered by the number of devices
def data_parallel(module, batch, devices):
    ids = [d.index for d in devices]
    pieces = nn.parallel.scatter((batch,), ids)
    ids = ids[: len(pieces)]
    replicas = nn.parallel.replicate(module, ids)
    outputs = nn.parallel.parallel_apply(replicas, pieces, devices=ids)
    return nn.parallel.gather(outputs, ids[0]) / len(ids)
