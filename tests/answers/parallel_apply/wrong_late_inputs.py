# finding: wrong_inputs
# the replica is bound when the thread is made, its inputs are read late
def parallel_apply(replicas, inputs, devices):
    results, threads = [None] * len(replicas), []
    for i, replica in enumerate(replicas):

        def work(place=i, replica=replica):
            results[place] = replica(*[t.to(devices[place]) for t in inputs[i]])

        threads.append(threading.Thread(target=work))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
