# finding: late_bound
# the lambdas read i when they run: by then it is the last one
def parallel_apply(replicas, inputs, devices):
    results = [None] * len(replicas)
    threads = [
        threading.Thread(target=lambda: results.__setitem__(i, replicas[i](*inputs[i])))
        for i in range(len(replicas))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
