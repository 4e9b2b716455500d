def parallel_apply(replicas, inputs, devices):
    results, errors, grad = {}, {}, torch.is_grad_enabled()

    def work(i):
        torch.set_grad_enabled(grad)
        try:
            results[i] = replicas[i](*inputs[i])
        except Exception as e:
            errors[i] = e

    threads = [threading.Thread(target=work, args=[i]) for i in range(1, len(replicas))]
    [t.start() for t in threads]
    work(0)
    [t.join() for t in threads]
    for i, e in sorted(errors.items()):
        e.args = (f"{e} (device {devices[i]})",)
        raise e
    return [results[i] for i in range(len(replicas))]
