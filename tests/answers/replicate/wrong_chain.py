# finding: sent_twice
# copies from each device to the next
def replicate(module, devices):
    replicas, copies = [], {id(t): t for t in (*module.parameters(), *module.buffers())}
    for device in devices:
        copies = {key: t.to(device) for key, t in copies.items()}
        replicas.append(copy.deepcopy(module, dict(copies)))
    return replicas
