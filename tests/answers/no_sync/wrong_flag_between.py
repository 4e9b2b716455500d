# finding: synchronised_too_early
# sets the flag between forward and backward, as a well-known loop does: each micro-batch gets the flag of the one before
def no_sync(ddp, micro_batches, loss_function):
    rows = sum(len(x) for x, _ in micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        loss = loss_function(ddp(x), y) * len(x) / rows
        ddp.require_backward_grad_sync = i == len(micro_batches) - 1
        loss.backward()
    ddp.require_backward_grad_sync = True
