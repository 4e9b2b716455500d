# finding: thread_raised
# hands over the tuple of arguments as one argument
def parallel_apply(replicas, inputs, devices):
    results = [None] * len(replicas)

    def work(i):
        results[i] = replicas[i](inputs[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(replicas))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
