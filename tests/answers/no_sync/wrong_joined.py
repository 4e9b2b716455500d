# finding: joined
# makes one large batch again of the micro-batches
def no_sync(ddp, micro_batches, loss_function):
    x = torch.cat([x for x, _ in micro_batches])
    y = torch.cat([y for _, y in micro_batches])
    loss_function(ddp(x), y).backward()
