# finding: grad_mode_lost
# a new thread begins with gradients on
def parallel_apply(replicas, inputs, devices):
    outputs, errors = [None] * len(replicas), {}

    def work(i):
        try:
            outputs[i] = replicas[i](*inputs[i])
        except Exception as error:
            errors[i] = error

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(replicas))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in errors:
        raise RuntimeError(f"on {devices[i]}") from errors[i]
    return outputs
