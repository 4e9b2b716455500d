# finding: mean_of_means
# counts batches instead of rows
def validation_loss_fixed(model, batches):
    total = torch.zeros(2, dtype=torch.float64, device=device())
    for x, y in batches:
        total += torch.tensor([F.mse_loss(model(x), y).item(), 1.0], device=device())
    dist.all_reduce(total)
    return (total[0] / total[1]).item()
