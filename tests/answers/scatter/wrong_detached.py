# finding: not_differentiable
# cuts the history: a model in front of this one could not be trained
def scatter(batch, devices):
    if isinstance(batch, torch.Tensor):
        return [c.detach().to(d) for c, d in zip(batch.chunk(len(devices)), devices)]
    return [batch] * len(devices)
