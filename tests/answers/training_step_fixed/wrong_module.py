# finding: around_the_wrapper
# calls the model inside the wrapper
def training_step_fixed(ddp, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(ddp.module(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()
