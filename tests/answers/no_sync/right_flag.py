# the flag that no_sync() sets, set by hand before forward
def no_sync(ddp, micro_batches, loss_function):
    rows = [len(x) for x, _ in micro_batches]
    for i, (x, y) in enumerate(micro_batches):
        ddp.require_backward_grad_sync = i == len(rows) - 1
        loss = loss_function(ddp(x), y)
        loss = loss * rows[i] / sum(rows)
        loss.backward()
    ddp.require_backward_grad_sync = True
