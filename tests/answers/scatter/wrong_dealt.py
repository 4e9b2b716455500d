# finding: wrong_rows
# the right sizes, but the rows are dealt out like cards
def scatter(batch, devices):
    if not isinstance(batch, torch.Tensor):
        return [batch] * len(devices)
    n = len(batch.chunk(len(devices)))
    order = torch.cat([torch.arange(i, len(batch), n) for i in range(n)])
    chunks = batch[order.to(batch.device)].chunk(len(devices))
    return [c.to(d) for c, d in zip(chunks, devices)]
