# finding: missing_peer
# an all-reduce for each batch, and not every rank has as many (C33)
def validation_loss_fixed(model, batches):
    total = torch.zeros(2, dtype=torch.float64, device=device())
    for x, y in batches:
        part = torch.tensor([F.mse_loss(model(x), y).item() * len(x), len(x)], dtype=torch.float64, device=device())
        dist.all_reduce(part)
        total += part
    return (total[0] / total[1]).item()
