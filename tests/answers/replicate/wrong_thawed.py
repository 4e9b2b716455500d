# finding: thawed
# makes everything require a gradient
def replicate(module, devices):
    replicas = []
    for device in devices:
        memo = {}
        for t in (*module.parameters(), *module.buffers()):
            moved = t.to(device)
            if t.is_floating_point() and not moved.requires_grad:
                moved = moved.clone().requires_grad_()
            memo[id(t)] = moved
        replicas.append(copy.deepcopy(module, memo))
    return replicas
