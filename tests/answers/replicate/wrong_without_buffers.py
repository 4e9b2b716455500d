# finding: left_behind
# forgets the buffers
def replicate(module, devices):
    replicas = []
    for device in devices:
        memo = {id(p): p.to(device) for p in module.parameters()}
        memo.update({id(b): b for b in module.buffers()})
        replicas.append(copy.deepcopy(module, memo))
    return replicas
