# finding: empty_pieces
# a piece for every device, also when there are no rows for it (C59)
def scatter(batch, devices):
    size = math.ceil(len(batch) / len(devices))
    return [batch[i * size : (i + 1) * size].to(d) for i, d in enumerate(devices)]
