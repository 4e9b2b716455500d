# finding: sum_not_mean
# the gradients are added up and not divided
def train_and_report(batches: list[torch.Tensor]) -> torch.Tensor:
    """Fit one number to all ranks' batches by gradient descent, and report the loss.

    In each epoch rank 0 prints f"epoch {epoch}: loss {loss:.3f}", where loss is the mean over
    all ranks of the loss on their batches, before the step. The other ranks print nothing.

    Args:
        batches: this rank's, one an epoch; float64 of shape (k,), the same shape on all ranks.

    Returns:
        w, of shape (1,), the same on all ranks.
    """
    rank, n = dist.get_rank(), dist.get_world_size()
    w = batches[0].new_zeros(1)
    for epoch, batch in enumerate(batches):
        error = w - batch
        gradient = 2 * error.mean(dim=0, keepdim=True)
        dist.all_reduce(gradient)
        w = w - 0.25 * gradient
        loss = error.square().mean()
        dist.all_reduce(loss)  # all ranks take part...
        if rank == 0:  # ...and one of them prints
            print(f"epoch {epoch}: loss {loss.item() / n:.3f}")
    return w