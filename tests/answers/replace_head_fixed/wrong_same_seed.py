# finding: changed_after_wrap
# the same seed on all ranks makes the heads equal, and only that
def replace_head_fixed(model, outputs):
    ddp = DDP(model)
    torch.manual_seed(0)
    ddp.module.head = nn.Linear(6, outputs).to(model.head.weight)
    return ddp
