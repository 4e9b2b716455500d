# finding: too_many_calls
# averages by hand what DDP has averaged already
def no_sync(ddp, micro_batches, loss_function):
    rows = sum(len(x) for x, _ in micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        last = i == len(micro_batches) - 1
        with contextlib.nullcontext() if last else ddp.no_sync():
            (loss_function(ddp(x), y) * (len(x) / rows)).backward()
    for p in ddp.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
