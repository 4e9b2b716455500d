# two all-reduces; returns a tensor
def validation_loss_fixed(model, batches):
    model.eval()
    total = torch.zeros((), dtype=torch.float64, device=device())
    rows = torch.zeros((), dtype=torch.int64, device=device())
    for x, y in batches:
        with torch.no_grad():
            total += F.mse_loss(model(x), y) * x.shape[0]
        rows += x.shape[0]
    dist.all_reduce(total)
    dist.all_reduce(rows)
    return total / rows
