# changes the Linear in place: new Parameter objects, before the wrap
def replace_head_fixed(model, outputs):
    head = model.head
    weight = torch.empty(outputs, head.in_features, dtype=head.weight.dtype, device=head.weight.device)
    nn.init.kaiming_uniform_(weight)
    head.weight = nn.Parameter(weight)
    head.bias = nn.Parameter(weight.new_zeros(outputs))
    head.out_features = outputs
    return DDP(model)
