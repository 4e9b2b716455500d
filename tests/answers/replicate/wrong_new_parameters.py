# finding: not_differentiable
# wraps the copies in nn.Parameter, which makes new leaves
def replicate(module, devices):
    replicas = []
    for device in devices:
        memo = {id(b): b.to(device) for b in module.buffers()}
        for p in module.parameters():
            memo[id(p)] = nn.Parameter(p.to(device), requires_grad=p.requires_grad)
        replicas.append(copy.deepcopy(module, memo))
    return replicas
