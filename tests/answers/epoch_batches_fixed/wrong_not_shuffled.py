# finding: not_shuffled
# turns the shuffling off
def epoch_batches_fixed(dataset, batch_size, epochs):
    sampler = torch.utils.data.DistributedSampler(dataset, shuffle=False)
    loader = DataLoader(dataset, batch_size, sampler=sampler)
    result = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        result.append(list(loader))
    return result
