# finding: mean_of_means
# weights the batches, and then means over the ranks
def validation_loss_fixed(model, batches):
    total = sum(F.mse_loss(model(x), y).item() * len(x) for x, y in batches)
    rows = max(sum(len(x) for x, _ in batches), 1)
    mean = torch.tensor(total / rows, dtype=torch.float64, device=device())
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()
