# finding: wrong_order
# in the order in which they end
def parallel_apply(replicas, inputs, devices):
    outputs = []

    def work(replica, args):
        output = replica(*args)
        outputs.append(output)

    threads = [threading.Thread(target=work, args=ra) for ra in zip(replicas, inputs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outputs
