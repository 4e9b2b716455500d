# finding: epoch_ignored
# the bug itself (C34)
def epoch_batches_fixed(dataset, batch_size, epochs):
    sampler = torch.utils.data.DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size, sampler=sampler)
    return [list(loader) for _ in range(epochs)]
