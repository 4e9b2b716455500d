# finding: not_divided
# the sum over all rows
def validation_loss_fixed(model, batches):
    total = torch.zeros((), dtype=torch.float64, device=device())
    for x, y in batches:
        total += F.mse_loss(model(x), y).item() * len(x)
    dist.all_reduce(total)
    return total.item()
