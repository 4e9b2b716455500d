# finding: one_at_a_time
# one module for all, and a lock so that they do not mix
def replicate(module, devices):
    lock, out = threading.Lock(), []

    def call(tensors, args):
        with lock:
            return torch.func.functional_call(module, tensors, args)

    for d in devices:
        tensors = {n: t.to(d) for n, t in [*module.named_parameters(), *module.named_buffers()]}
        out.append(lambda *a, tensors=tensors: call(tensors, a))
    return out
