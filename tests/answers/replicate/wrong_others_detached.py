# finding: not_differentiable
# the module at home, and deep copies elsewhere: only the home's rows count
def replicate(module, devices):
    return [module] + [copy.deepcopy(module).to(device) for device in devices[1:]]
