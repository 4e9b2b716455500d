# calls DDP's forward by its name, and the loss by hand
def training_step_fixed(ddp, optimizer, x, y):
    optimizer.zero_grad(set_to_none=False)
    loss = ((ddp.forward(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss
