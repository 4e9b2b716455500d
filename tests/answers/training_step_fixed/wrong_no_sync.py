# finding: not_averaged
# leaves the exchange out
def training_step_fixed(ddp, optimizer, x, y):
    optimizer.zero_grad()
    with ddp.no_sync():
        loss = F.mse_loss(ddp(x), y)
        loss.backward()
    optimizer.step()
    return loss.item()
