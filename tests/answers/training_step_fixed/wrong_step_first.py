# finding: not_stepped
# steps before backward
def training_step_fixed(ddp, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(ddp(x), y)
    optimizer.step()
    loss.backward()
    return loss.item()
