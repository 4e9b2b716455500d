def replicate(module, devices):
    replicas = []
    for device in devices:
        replica = copy.deepcopy(module)
        originals = {id(p): p for p in (*module.parameters(), *module.buffers())}
        made = {key: t.to(device) for key, t in originals.items()}
        for source, target in zip(module.modules(), replica.modules()):
            for name, p in source._parameters.items():
                if p is not None:
                    target._parameters[name] = made[id(p)]
            for name, b in source._buffers.items():
                if b is not None:
                    target._buffers[name] = made[id(b)]
        replicas.append(replica)
    return replicas
