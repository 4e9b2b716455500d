# finding: epoch_ignored
# tells the epoch once, before the loop
def epoch_batches_fixed(dataset, batch_size, epochs):
    sampler = torch.utils.data.DistributedSampler(dataset)
    sampler.set_epoch(epochs)
    loader = DataLoader(dataset, batch_size, sampler=sampler)
    return [list(loader) for _ in range(epochs)]
