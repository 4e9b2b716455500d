# finding: shared_module
# functional_call in a lambda: right as long as nobody else calls
def replicate(module, devices):
    out = []
    for d in devices:
        tensors = {n: t.to(d) for n, t in [*module.named_parameters(), *module.named_buffers()]}
        out.append(lambda *a, tensors=tensors: torch.func.functional_call(module, tensors, a))
    return out
