# finding: wrong_loss
# computes the loss again, after the step
def training_step_fixed(ddp, optimizer, x, y):
    optimizer.zero_grad()
    F.mse_loss(ddp(x), y).backward()
    optimizer.step()
    with torch.no_grad():
        return F.mse_loss(ddp.module(x), y).item()
