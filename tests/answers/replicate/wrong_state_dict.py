# finding: left_behind
# only what is in the state dict: a buffer that is not stays at home
def replicate(module, devices):
    replicas = []
    for device in devices:
        memo = {}
        names = module.state_dict().keys()
        for name, t in (*module.named_parameters(), *module.named_buffers()):
            memo[id(t)] = t.to(device) if name in names else t
        replicas.append(copy.deepcopy(module, memo))
    return replicas
