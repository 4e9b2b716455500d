# finding: own_loss
# takes the all_reduce away: nothing hangs, and one rank's loss is reported for all
def train_and_report(batches):
    rank, n = dist.get_rank(), dist.get_world_size()
    w = batches[0].new_zeros(1)
    for epoch, batch in enumerate(batches):
        error = w - batch
        gradient = 2 * error.mean(dim=0, keepdim=True)
        dist.all_reduce(gradient)
        w = w - 0.25 * gradient / n
        if rank == 0:
            loss = error.square().mean()
            print(f"epoch {epoch}: loss {loss.item():.3f}")
    return w
