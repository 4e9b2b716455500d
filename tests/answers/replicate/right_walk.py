def replicate(module, devices):
    return [copy_to(module, device, {}) for device in devices]


def copy_to(module, device, known):
    if module in known:
        return known[module]

    def move(tensor):
        if tensor is None:
            return None
        if tensor not in known:
            known[tensor] = tensor.to(device)
        return known[tensor]

    replica = copy.copy(module)
    known[module] = replica
    replica.__dict__["_parameters"] = {k: move(p) for k, p in module._parameters.items()}
    replica.__dict__["_buffers"] = {k: move(b) for k, b in module._buffers.items()}
    replica.__dict__["_modules"] = {
        k: None if m is None else copy_to(m, device, known) for k, m in module._modules.items()
    }
    return replica
