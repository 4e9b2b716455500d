# finding: no_report
# the report is the problem, so it goes
def train_and_report(batches):
    rank, n = dist.get_rank(), dist.get_world_size()
    w = batches[0].new_zeros(1)
    for epoch, batch in enumerate(batches):
        error = w - batch
        gradient = 2 * error.mean(dim=0, keepdim=True)
        dist.all_reduce(gradient)
        w = w - 0.25 * gradient / n
        loss = error.square().mean()
        dist.all_reduce(loss)
    return w
