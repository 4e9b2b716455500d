# finding: not_synchronised
# moves the gradient's all_reduce away and keeps the loss's
def train_and_report(batches):
    rank, n = dist.get_rank(), dist.get_world_size()
    w = batches[0].new_zeros(1)
    for epoch, batch in enumerate(batches):
        error = w - batch
        w = w - 0.25 * 2 * error.mean(dim=0, keepdim=True)
        loss = error.square().mean()
        dist.all_reduce(loss)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss.item() / n:.3f}")
    return w
