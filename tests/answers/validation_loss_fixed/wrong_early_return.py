# finding: missing_peer
# a rank without batches returns before the all-reduce
def validation_loss_fixed(model, batches):
    if not batches:
        return 0.0
    t = torch.zeros(2, dtype=torch.float64)
    for x, y in batches:
        t[0] += F.mse_loss(model(x), y).item() * len(x)
        t[1] += len(x)
    dist.all_reduce(t)
    return (t[0] / t[1]).item()
