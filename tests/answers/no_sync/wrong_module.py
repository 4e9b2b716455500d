# finding: around_the_wrapper
# forward around the wrapper (C50)
def no_sync(ddp, micro_batches, loss_function):
    rows = sum(len(x) for x, _ in micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        last = i == len(micro_batches) - 1
        with contextlib.nullcontext() if last else ddp.no_sync():
            (loss_function(ddp.module(x), y) * (len(x) / rows)).backward()
