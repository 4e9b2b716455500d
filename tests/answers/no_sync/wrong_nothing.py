# finding: not_called
# does nothing yet
def no_sync(ddp, micro_batches, loss_function):
    rows = sum(len(x) for x, _ in micro_batches)
    print(rows)
