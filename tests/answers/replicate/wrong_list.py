# finding: same_module
# the same module for everybody
def replicate(module, devices):
    return [module] * len(devices)
