# finding: backbone_lost
# makes the backbone anew, too
def replace_head_fixed(model, outputs):
    model.backbone = nn.Linear(5, 6).to(model.head.weight)
    model.head = nn.Linear(6, outputs).to(model.head.weight)
    return DDP(model)
