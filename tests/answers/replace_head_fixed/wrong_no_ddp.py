# finding: not_ddp
# returns the bare model
def replace_head_fixed(model, outputs):
    model.head = nn.Linear(model.head.in_features, outputs).to(model.head.weight)
    return model
