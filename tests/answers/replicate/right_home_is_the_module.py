def replicate(module, devices):
    others = []
    for device in devices[1:]:
        memo = {}
        for t in list(module.parameters()) + list(module.buffers()):
            memo[id(t)] = t.to(device)
        others.append(copy.deepcopy(module, memo))
    return [module, *others]
