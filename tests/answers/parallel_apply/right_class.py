class Worker(threading.Thread):
    def __init__(self, replica, args, device, grad):
        super().__init__()
        self.replica, self.args, self.device, self.grad = replica, args, device, grad
        self.output = self.error = None

    def run(self):
        with torch.set_grad_enabled(self.grad):
            try:
                self.output = self.replica(*self.args)
            except Exception as error:
                self.error = error


def parallel_apply(replicas, inputs, devices):
    grad = torch.is_grad_enabled()
    workers = [Worker(r, a, d, grad) for r, a, d in zip(replicas, inputs, devices)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    failed = next((w for w in workers if w.error), None)
    if failed:
        raise type(failed.error)(f"{failed.device}: {failed.error}") from failed.error
    return [w.output for w in workers]
