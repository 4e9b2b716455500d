# finding: some_ranks
# reduce leaves it on rank 0 (C32)
def validation_loss_fixed(model, batches):
    total = torch.zeros(2, dtype=torch.float64, device=device())
    for x, y in batches:
        total += torch.tensor([F.mse_loss(model(x), y).item() * len(x), len(x)], device=device())
    dist.reduce(total, dst=0)
    return (total[0] / total[1]).item() if dist.get_rank() == 0 else 0.0
