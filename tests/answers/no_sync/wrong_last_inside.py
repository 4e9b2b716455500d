# finding: never_synchronised
# the last micro-batch is inside as well (C44 ii)
def no_sync(ddp, micro_batches, loss_function):
    rows = sum(len(x) for x, _ in micro_batches)
    with ddp.no_sync():
        for x, y in micro_batches:
            (loss_function(ddp(x), y) * len(x) / rows).backward()
