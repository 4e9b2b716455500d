# finding: all_of_one
# every thread reads the loop's last values
def parallel_apply(replicas, inputs, devices):
    outputs, threads, ready = [None] * len(replicas), [], threading.Event()
    for i, (replica, args) in enumerate(zip(replicas, inputs)):

        def work(place=i):
            ready.wait()
            outputs[place] = replica(*args)

        threads.append(threading.Thread(target=work))
        threads[-1].start()
    ready.set()
    for thread in threads:
        thread.join()
    return outputs
