# finding: empty_shard
# divides before it reduces: nan on a rank without batches
def validation_loss_fixed(model, batches):
    losses = torch.tensor([F.mse_loss(model(x), y).item() for x, y in batches], dtype=torch.float64)
    rows = torch.tensor([len(x) for x, _ in batches], dtype=torch.float64)
    total = torch.stack([(losses * rows).sum() / rows.sum() * rows.sum(), rows.sum()])
    total = total.to(device())
    dist.all_reduce(total)
    return (total[0] / total[1]).item()
