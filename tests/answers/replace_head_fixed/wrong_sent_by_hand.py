# finding: changed_after_wrap
# sends the new head to all, but DDP still has no hooks on it
def replace_head_fixed(model, outputs):
    ddp = DDP(model)
    ddp.module.head = nn.Linear(6, outputs).to(model.head.weight)
    for param in ddp.module.head.parameters():
        dist.broadcast(param.data, src=0)
    return ddp
