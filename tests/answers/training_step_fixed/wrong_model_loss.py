# finding: around_the_wrapper
# the bug itself: the loss method of the model inside (C50)
def training_step_fixed(ddp, optimizer, x, y):
    optimizer.zero_grad()
    loss = ddp.module.loss(x, y)
    loss.backward()
    optimizer.step()
    return loss.item()
