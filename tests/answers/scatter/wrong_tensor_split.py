# finding: split_evenly
# tensor_split's sizes, as even as can be (C59)
def scatter(batch, devices):
    return [c.to(d) for c, d in zip(torch.tensor_split(batch, len(devices)), devices)]
