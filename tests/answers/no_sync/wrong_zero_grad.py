# finding: last_only
# clears the gradients before each micro-batch
def no_sync(ddp, micro_batches, loss_function):
    rows = sum(len(x) for x, _ in micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        last = i == len(micro_batches) - 1
        ddp.zero_grad()
        with contextlib.nullcontext() if last else ddp.no_sync():
            (loss_function(ddp(x), y) * (len(x) / rows)).backward()
