# finding: not_differentiable
# copies under no_grad
def replicate(module, devices):
    replicas = []
    with torch.no_grad():
        for device in devices:
            memo = {id(t): t.to(device) for t in (*module.parameters(), *module.buffers())}
            replicas.append(copy.deepcopy(module, memo))
    return replicas
