# finding: no_net
# changes the step only, without its class
def penalised_step_fixed(parallel, x, y):
    output, penalty = parallel(x)
    loss = F.mse_loss(output, y) + 0.1 * penalty.mean()
    loss.backward()
    return loss.item()
