# finding: ranks_shuffle_apart
# a seed of its own for each rank
def epoch_batches_fixed(dataset, batch_size, epochs):
    sampler = torch.utils.data.DistributedSampler(dataset, seed=dist.get_rank())
    loader = DataLoader(dataset, batch_size, sampler=sampler)
    result = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        result.append(list(loader))
    return result
