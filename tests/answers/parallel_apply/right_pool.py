from concurrent.futures import ThreadPoolExecutor


def parallel_apply(replicas, inputs, devices):
    grad = torch.is_grad_enabled()

    def work(replica, args):
        with torch.set_grad_enabled(grad):
            return replica(*args)

    with ThreadPoolExecutor(len(replicas)) as pool:
        futures = [pool.submit(work, r, a) for r, a in zip(replicas, inputs)]
    for future, device in zip(futures, devices):
        if future.exception() is not None:
            raise RuntimeError(f"replica on {device} failed") from future.exception()
    return [f.result() for f in futures]
