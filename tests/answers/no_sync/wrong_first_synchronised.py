# finding: synchronised_too_early
# exchanges with the first micro-batch instead of the last
def no_sync(ddp, micro_batches, loss_function):
    rows = sum(len(x) for x, _ in micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        with contextlib.nullcontext() if i == 0 else ddp.no_sync():
            (loss_function(ddp(x), y) * (len(x) / rows)).backward()
