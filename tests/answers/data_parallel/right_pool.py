from concurrent.futures import ThreadPoolExecutor


def data_parallel(module, batch, devices):
    pieces = batch.chunk(len(devices))
    replicas = [copy_to(module, d) for _, d in zip(pieces, devices)]
    with ThreadPoolExecutor(len(pieces)) as pool:
        jobs = [pool.submit(r, p.to(d)) for r, p, d in zip(replicas, pieces, devices)]
    return torch.cat([job.result().to(devices[0]) for job in jobs])


def copy_to(module, device):
    tensors = (*module.parameters(), *module.buffers())
    return copy.deepcopy(module, {id(t): t.to(device) for t in tensors})
