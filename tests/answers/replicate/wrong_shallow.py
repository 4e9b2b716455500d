# finding: moved_module
# a shallow copy shares the dicts of parameters
def replicate(module, devices):
    return [copy.copy(module).to(device) for device in devices]
