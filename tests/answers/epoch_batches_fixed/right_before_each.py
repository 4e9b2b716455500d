# persistent loader, epoch set before each pass
from torch.utils.data.distributed import DistributedSampler


def epoch_batches_fixed(dataset, batch_size, epochs):
    sampler = DistributedSampler(dataset, shuffle=True, seed=7)
    loader = DataLoader(dataset, batch_size=batch_size, sampler=sampler)
    result = [[] for _ in range(epochs)]
    for epoch, batches in enumerate(result):
        loader.sampler.set_epoch(epoch + 100)
        for batch in loader:
            batches.append(batch)
    return result
