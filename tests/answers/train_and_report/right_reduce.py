# reduce to rank 0: all take part, and the sum is used where it is
def train_and_report(batches):
    rank, n = dist.get_rank(), dist.get_world_size()
    w = batches[0].new_zeros(1)
    for epoch, batch in enumerate(batches):
        error = w - batch
        gradient = 2 * error.mean(dim=0, keepdim=True)
        dist.all_reduce(gradient)
        w = w - 0.25 * gradient / n
        loss = error.square().mean()
        dist.reduce(loss, dst=0)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss.item() / n:.3f}")
    return w
