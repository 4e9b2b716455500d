# finding: only_home
# one device does everything
def data_parallel(module, batch, devices):
    return module(batch.to(devices[0]))
