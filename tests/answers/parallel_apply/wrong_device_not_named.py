# finding: device_not_named
# raises what was raised, and not where
from concurrent.futures import ThreadPoolExecutor


def parallel_apply(replicas, inputs, devices):
    grad = torch.is_grad_enabled()

    def work(i):
        with torch.set_grad_enabled(grad):
            return replicas[i](*inputs[i])

    with ThreadPoolExecutor(len(replicas)) as pool:
        return list(pool.map(work, range(len(replicas))))
