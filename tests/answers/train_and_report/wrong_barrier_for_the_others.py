# finding: different_collectives
# the others must wait for rank 0, so they get a barrier
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
            dist.all_reduce(loss)
            print(f"epoch {epoch}: loss {loss.item() / n:.3f}")
        else:
            dist.barrier()
    return w
