# a new sampler for each epoch, with the epoch as its seed
def epoch_batches_fixed(dataset, batch_size, epochs):
    def batches(epoch):
        sampler = torch.utils.data.DistributedSampler(dataset, seed=epoch)
        return [batch for batch in DataLoader(dataset, batch_size, sampler=sampler)]

    return [batches(epoch) for epoch in range(epochs)]
