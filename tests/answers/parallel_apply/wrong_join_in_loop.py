# finding: one_after_another
# joins each thread before it starts the next
def parallel_apply(replicas, inputs, devices):
    outputs = [None] * len(replicas)

    def work(i):
        outputs[i] = replicas[i](*inputs[i])

    for i in range(len(replicas)):
        thread = threading.Thread(target=work, args=(i,))
        thread.start()
        thread.join()
    return outputs
