# finding: error_lost
# the exception is lost; what is raised is the consequence
def parallel_apply(replicas, inputs, devices):
    outputs, grad = {}, torch.is_grad_enabled()

    def work(i):
        torch.set_grad_enabled(grad)
        outputs[i] = replicas[i](*inputs[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(replicas))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [outputs[i] for i in range(len(replicas))]
