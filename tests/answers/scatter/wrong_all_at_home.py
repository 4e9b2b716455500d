# finding: wrong_device
# cuts, and moves nothing
def scatter(batch, devices):
    return list(batch.chunk(len(devices)))
