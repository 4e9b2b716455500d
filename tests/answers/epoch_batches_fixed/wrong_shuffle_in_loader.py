# finding: exception
# a sampler and shuffle=True exclude each other
def epoch_batches_fixed(dataset, batch_size, epochs):
    sampler = torch.utils.data.DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size, sampler=sampler, shuffle=True)
    return [list(loader) for _ in range(epochs)]
