# finding: changed_after_wrap
# changes the model by its other name: it is the same object
def replace_head_fixed(model, outputs):
    ddp = DDP(model)
    model.head = nn.Linear(model.head.in_features, outputs).to(model.head.weight)
    return ddp
