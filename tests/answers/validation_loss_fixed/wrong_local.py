# finding: local
# no exchange
def validation_loss_fixed(model, batches):
    total = sum(F.mse_loss(model(x), y).item() * len(x) for x, y in batches)
    return total / max(sum(len(x) for x, _ in batches), 1)
