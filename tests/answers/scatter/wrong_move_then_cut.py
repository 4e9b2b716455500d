# finding: whole_batch_sent
# sends the whole batch to each device and cuts there
def scatter(batch, devices):
    n = len(batch.chunk(len(devices)))
    return [batch.to(d).chunk(len(devices))[i] for i, d in zip(range(n), devices)]
