# finding: divided_twice
# weights with the rows of all ranks, though DDP divides by their number
def no_sync(ddp, micro_batches, loss_function):
    n = sum(len(x) for x, _ in micro_batches) * dist.get_world_size()
    for i, (x, y) in enumerate(micro_batches):
        with ddp.no_sync() if i < len(micro_batches) - 1 else contextlib.nullcontext():
            (loss_function(ddp(x), y) * len(x) / n).backward()
