# finding: not_averaged
# a forward through DDP whose output backward never sees: nothing is exchanged
def training_step_fixed(ddp, optimizer, x, y):
    optimizer.zero_grad()
    with torch.no_grad():
        ddp(x)
    loss = ddp.module.loss(x, y)
    loss.backward()
    optimizer.step()
    return loss.item()
