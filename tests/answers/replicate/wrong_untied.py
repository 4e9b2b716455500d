# finding: untied
# copies by name, so that a tied weight becomes two
def replicate(module, devices):
    replicas = []
    for device in devices:
        replica = copy.deepcopy(module)
        for source, target in zip(module.modules(), replica.modules()):
            for name, p in source._parameters.items():
                target._parameters[name] = None if p is None else p.to(device)
                if device == p.device:
                    target._parameters[name] = p * 1
            for name, b in source._buffers.items():
                target._buffers[name] = b.to(device)
        replicas.append(replica)
    return replicas
