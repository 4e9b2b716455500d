# gradient and loss in one tensor: half as many collectives
def train_and_report(batches):
    rank, n = dist.get_rank(), dist.get_world_size()
    w = batches[0].new_zeros(1)
    for epoch, batch in enumerate(batches):
        error = w - batch
        both = torch.stack([2 * error.mean(), error.square().mean()])
        dist.all_reduce(both)
        both /= n
        w = w - 0.25 * both[0]
        if rank == 0:
            print(f"epoch {epoch}: loss {both[1].item()}")
    return w
