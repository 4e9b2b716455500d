# finding: grad_mode_lost
# always without gradients
def parallel_apply(replicas, inputs, devices):
    outputs = [None] * len(replicas)

    def work(i):
        with torch.no_grad():
            outputs[i] = replicas[i](*inputs[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(replicas))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outputs
