# finding: wrapped_twice
# wraps again what is wrapped already
def replace_head_fixed(model, outputs):
    ddp = DDP(model)
    ddp.module.head = nn.Linear(model.head.in_features, outputs, device=model.head.weight.device)
    return DDP(ddp)
