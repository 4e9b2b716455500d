# finding: not_zeroed
# gradients add up from step to step
def training_step_fixed(ddp, optimizer, x, y):
    loss = F.mse_loss(ddp(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()
