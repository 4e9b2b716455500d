# finding: not_divided
# adds k means (C43)
def no_sync(ddp, micro_batches, loss_function):
    for i, (x, y) in enumerate(micro_batches):
        last = i == len(micro_batches) - 1
        with contextlib.nullcontext() if last else ddp.no_sync():
            loss_function(ddp(x), y).backward()
