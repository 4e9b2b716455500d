def data_parallel(module, batch, devices):
    pieces = [c.to(d) for c, d in zip(batch.chunk(len(devices)), devices)]
    replicas = []
    for _, device in zip(pieces, devices):
        tensors = (*module.parameters(), *module.buffers())
        replicas.append(copy.deepcopy(module, {id(t): t.to(device) for t in tensors}))
    outputs = [None] * len(pieces)

    def work(i):
        outputs[i] = replicas[i](pieces[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(pieces))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return torch.cat([output.to(devices[0]) for output in outputs])
