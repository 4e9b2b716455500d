# finding: wrong_loss
# returns None
def training_step_fixed(ddp, optimizer, x, y):
    optimizer.zero_grad()
    F.mse_loss(ddp(x), y).backward()
    optimizer.step()
