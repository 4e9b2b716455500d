# finding: wrong_weights
# every rank calls both, but rank 0 in another order: loss and gradient are added to each other
def train_and_report(batches):
    rank, n = dist.get_rank(), dist.get_world_size()
    w = batches[0].new_zeros(1)
    for epoch, batch in enumerate(batches):
        error = w - batch
        gradient = 2 * error.mean(dim=0, keepdim=True)
        loss = error.square().mean()
        if rank == 0:
            dist.all_reduce(loss)
        dist.all_reduce(gradient)
        if rank != 0:
            dist.all_reduce(loss)
        w = w - 0.25 * gradient / n
        if rank == 0:
            print(f"epoch {epoch}: loss {loss.item() / n:.3f}")
    return w
