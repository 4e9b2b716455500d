# finding: mean_of_means
# the bug itself: the mean over ranks of the mean over batches (C42)
def validation_loss_fixed(model, batches):
    losses = [F.mse_loss(model(x), y).item() for x, y in batches]
    mean = torch.tensor(sum(losses) / max(len(losses), 1), dtype=torch.float64, device=device())
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()
