# finding: sum_not_mean
# multiplies the loss by the number of ranks, as if DDP summed (C40)
def no_sync(ddp, micro_batches, loss_function):
    rows = sum(len(x) for x, _ in micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        last = i == len(micro_batches) - 1
        with contextlib.nullcontext() if last else ddp.no_sync():
            (loss_function(ddp(x), y) * (dist.get_world_size() * len(x) / rows)).backward()
