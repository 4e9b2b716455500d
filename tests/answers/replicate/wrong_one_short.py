# finding: wrong_count
# forgets the home device
def replicate(module, devices):
    replicas = []
    for device in devices[1:]:
        memo = {id(t): t.to(device) for t in (*module.parameters(), *module.buffers())}
        replicas.append(copy.deepcopy(module, memo))
    return replicas
