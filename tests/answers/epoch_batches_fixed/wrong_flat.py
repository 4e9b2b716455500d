# finding: wrong_epochs
# one list of all batches
def epoch_batches_fixed(dataset, batch_size, epochs):
    sampler = torch.utils.data.DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size, sampler=sampler)
    result = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        result += list(loader)
    return result
