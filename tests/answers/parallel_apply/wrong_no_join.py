# finding: not_joined
# does not wait for the threads
def parallel_apply(replicas, inputs, devices):
    outputs = [None] * len(replicas)

    def work(i):
        outputs[i] = replicas[i](*inputs[i])

    for i in range(len(replicas)):
        threading.Thread(target=work, args=(i,)).start()
    return outputs
