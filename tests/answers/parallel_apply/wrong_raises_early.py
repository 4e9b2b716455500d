# finding: not_joined
# raises as soon as one has failed, while the others go on
def parallel_apply(replicas, inputs, devices):
    outputs, errors, grad = {}, {}, torch.is_grad_enabled()
    some = threading.Semaphore(0)

    def work(i):
        torch.set_grad_enabled(grad)
        try:
            outputs[i] = replicas[i](*inputs[i])
        except Exception as error:
            errors[i] = error
        some.release()

    for i in range(len(replicas)):
        threading.Thread(target=work, args=(i,), daemon=True).start()
    for _ in replicas:
        some.acquire()
        for i, error in list(errors.items()):
            raise RuntimeError(f"on {devices[i]}") from error
    return [outputs[i] for i in range(len(replicas))]
