# finding: synchronised_each_time
# plain accumulation, no no_sync at all
def no_sync(ddp, micro_batches, loss_function):
    rows = sum(len(x) for x, _ in micro_batches)
    for x, y in micro_batches:
        (loss_function(ddp(x), y) * len(x) / rows).backward()
