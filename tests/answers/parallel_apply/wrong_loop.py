# finding: one_after_another
# no threads at all
def parallel_apply(replicas, inputs, devices):
    outputs = []
    for replica, args, device in zip(replicas, inputs, devices):
        try:
            outputs.append(replica(*args))
        except Exception as error:
            raise RuntimeError(f"on {device}") from error
    return outputs
