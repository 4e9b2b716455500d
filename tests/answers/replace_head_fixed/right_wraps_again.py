# wraps, sees the mistake, and wraps the changed model anew
def replace_head_fixed(model, outputs):
    ddp = DDP(model)
    inner = ddp.module
    inner.head = nn.Linear(inner.head.in_features, outputs).to(inner.head.weight)
    return DDP(inner)
