# no dtype: that of the model is the usual one
def replace_head_fixed(model, outputs):
    model.head = nn.Linear(model.head.in_features, outputs).to(device())
    return DDP(model)
