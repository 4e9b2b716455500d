# finding: nested_fails
# knows tensors only
def scatter(batch, devices):
    return [c.to(d) for c, d in zip(batch.chunk(len(devices)), devices)]
