# finding: whole_batch
# every device gets the whole batch
def scatter(batch, devices):
    return [batch.to(d) for d in devices]
