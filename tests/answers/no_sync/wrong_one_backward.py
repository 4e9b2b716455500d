# finding: graphs_kept
# adds up the losses, and calls backward once
def no_sync(ddp, micro_batches, loss_function):
    n = sum(len(x) for x, _ in micro_batches)
    total = 0
    for x, y in micro_batches:
        total = total + loss_function(ddp(x), y) * len(x) / n
    total.backward()
