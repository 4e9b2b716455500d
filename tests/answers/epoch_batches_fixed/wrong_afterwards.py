# finding: epoch_too_late
# tells the epoch after the pass: epochs 0 and 1 are the same
def epoch_batches_fixed(dataset, batch_size, epochs):
    sampler = torch.utils.data.DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size, sampler=sampler)
    result = []
    for epoch in range(epochs):
        result.append(list(loader))
        sampler.set_epoch(epoch)
    return result
