# finding: torchs_own
# torch's own
def data_parallel(module, batch, devices):
    return nn.DataParallel(module, device_ids=[d.index for d in devices])(batch)
