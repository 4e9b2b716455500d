# finding: training_mode
# replicas always in training mode
def replicate(module, devices):
    replicas = []
    for device in devices:
        memo = {id(t): t.to(device) for t in (*module.parameters(), *module.buffers())}
        replicas.append(copy.deepcopy(module, memo).train())
    return replicas
