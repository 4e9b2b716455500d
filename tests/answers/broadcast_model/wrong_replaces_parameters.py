# finding: parameter_replaced
# new Parameter objects: an optimizer built before holds the old ones, ties are cut
def broadcast_model(model):
    for module in model.modules():
        for name, param in list(module.named_parameters(recurse=False)):
            data = param.detach().clone()
            dist.broadcast(data, src=0)
            setattr(module, name, nn.Parameter(data, requires_grad=param.requires_grad))
    for buffer in model.buffers():
        dist.broadcast(buffer, src=0)
