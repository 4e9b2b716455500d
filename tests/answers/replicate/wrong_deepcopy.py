# finding: not_differentiable
# copy.deepcopy: new parameters, with gradients that nobody sees
def replicate(module, devices):
    return [copy.deepcopy(module).to(device) for device in devices]
