# finding: sum_not_mean
# multiplies by the number of ranks (C40)
def training_step_fixed(ddp, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(ddp(x), y) * dist.get_world_size()
    loss.backward()
    optimizer.step()
    return loss.item() / dist.get_world_size()
