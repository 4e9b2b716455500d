# finding: rows_lost
# rounds the size of a piece down and forgets the rest
def scatter(batch, devices):
    size = len(batch) // len(devices)
    return [batch[i * size : (i + 1) * size].to(d) for i, d in enumerate(devices)]
