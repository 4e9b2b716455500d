# finding: moved_module
# module.to moves the module itself
def replicate(module, devices):
    return [module.to(device) for device in devices]
