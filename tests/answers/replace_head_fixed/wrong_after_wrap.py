# finding: changed_after_wrap
# the bug itself (C51)
def replace_head_fixed(model, outputs):
    ddp = DDP(model)
    ddp.module.head = nn.Linear(6, outputs).to(model.head.weight)
    return ddp
