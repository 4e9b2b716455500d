# finding: synchronised_each_time
# no_sync round backward only: DDP has decided in forward (C44 i)
def no_sync(ddp, micro_batches, loss_function):
    rows = sum(len(x) for x, _ in micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        loss = loss_function(ddp(x), y) * len(x) / rows
        if i < len(micro_batches) - 1:
            with ddp.no_sync():
                loss.backward()
        else:
            loss.backward()
