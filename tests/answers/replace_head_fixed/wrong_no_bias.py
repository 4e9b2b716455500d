# finding: wrong_head
# the old head had a bias
def replace_head_fixed(model, outputs):
    model.head = nn.Linear(model.head.in_features, outputs, bias=False, device=device())
    return DDP(model)
