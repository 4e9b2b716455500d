# finding: wrong_value
# divides by the number of ranks as well
def validation_loss_fixed(model, batches):
    total = torch.zeros(2, dtype=torch.float64, device=device())
    for x, y in batches:
        total += torch.tensor([F.mse_loss(model(x), y).item() * len(x), len(x)], device=device())
    dist.all_reduce(total)
    return (total[0] / total[1] / dist.get_world_size()).item()
