# finding: rows_lost
# deals rows like cards, and so many as the shortest gets
def scatter(batch, devices):
    n = len(batch) // len(devices)
    return [batch[i :: len(devices)][:n].to(d) for i, d in enumerate(devices)]
