# finding: mean_of_means
# divides by k, though the micro-batches are of different size
def no_sync(ddp, micro_batches, loss_function):
    k = len(micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        with contextlib.nullcontext() if i == k - 1 else ddp.no_sync():
            (loss_function(ddp(x), y) / k).backward()
