# finding: changed_after_wrap
# gives the old head's parameters new data, of another shape, after wrapping
def replace_head_fixed(model, outputs):
    ddp = DDP(model)
    head = model.head
    head.weight.data = torch.empty(outputs, head.in_features, device=device()).uniform_(-0.1, 0.1)
    head.bias.data = torch.zeros(outputs, device=device())
    head.out_features = outputs
    return ddp
