# finding: columns_added
# a sum over rows and columns, divided by the rows
def validation_loss_fixed(model, batches):
    t = torch.zeros(2, dtype=torch.float64)
    for x, y in batches:
        t[0] += F.mse_loss(model(x), y, reduction="sum").item()
        t[1] += len(x)
    dist.all_reduce(t)
    return (t[0] / t[1]).item()
