# sums of squares instead of means; gathered as objects
@torch.no_grad()
def validation_loss_fixed(model, batches):
    squares, count = 0.0, 0
    for x, y in batches:
        squares += ((model(x) - y) ** 2).sum().item()
        count += y.numel()
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, (squares, count))
    return sum(s for s, _ in everybody) / sum(c for _, c in everybody)
