# finding: frozen
# freezes the backbone
def replace_head_fixed(model, outputs):
    model.requires_grad_(False)
    model.head = nn.Linear(model.head.in_features, outputs).to(model.head.weight)
    return DDP(model)
