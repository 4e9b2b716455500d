# all reports at the end, from one all_gather; hook of another kind, same lines
def train_and_report(batches):
    rank, n = dist.get_rank(), dist.get_world_size()
    w, losses = batches[0].new_zeros(1), []
    for batch in batches:
        error = w - batch
        losses.append(error.square().mean())
        gradient = 2 * error.mean().reshape(1)
        dist.all_reduce(gradient)
        w -= 0.25 * gradient / n
    mine = torch.stack(losses)
    everybody = [torch.empty_like(mine) for _ in range(n)]
    dist.all_gather(everybody, mine)
    if rank == 0:
        for epoch, loss in enumerate(sum(everybody) / n):
            print(f"epoch {epoch}: loss {loss:.3f}")
    return w
