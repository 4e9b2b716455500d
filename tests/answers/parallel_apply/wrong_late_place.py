# finding: outputs_missing
# the place is read when the output is there: by then i is the last one
def parallel_apply(replicas, inputs, devices):
    results, threads = [None] * len(replicas), []
    for i in range(len(replicas)):

        def work(replica=replicas[i], args=inputs[i]):
            output = replica(*args)
            results[i] = output

        threads.append(threading.Thread(target=work))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
