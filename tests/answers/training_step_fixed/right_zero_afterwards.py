# clears the gradients at the end instead
def training_step_fixed(ddp, optimizer, x, y):
    ddp.train()
    out = ddp(x)
    loss = F.mse_loss(out, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return float(loss)
