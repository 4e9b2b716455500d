# DDP decides in forward, so that no_sync() around forward alone is enough (C44)
def no_sync(ddp, micro_batches, loss_function):
    rows = sum(len(x) for x, _ in micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        if i < len(micro_batches) - 1:
            with ddp.no_sync():
                out = ddp(x)
        else:
            out = ddp(x)
        (loss_function(out, y) * len(x) / rows).backward()
