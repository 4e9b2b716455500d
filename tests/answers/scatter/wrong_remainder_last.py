# finding: wrong_sizes
# the last device gets what is left over
def scatter(batch, devices):
    size = len(batch) // len(devices)
    ends = [(i + 1) * size for i in range(len(devices) - 1)] + [len(batch)]
    return [batch[i * size : end].to(d) for i, (end, d) in enumerate(zip(ends, devices))]
