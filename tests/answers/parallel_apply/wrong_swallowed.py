# finding: swallowed
# an exception in a thread is printed, and that is all
def parallel_apply(replicas, inputs, devices):
    outputs, grad = [None] * len(replicas), torch.is_grad_enabled()

    def work(i):
        torch.set_grad_enabled(grad)
        outputs[i] = replicas[i](*inputs[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(replicas))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outputs
