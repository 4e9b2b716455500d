# finding: same_on_all_ranks
# gives up the sampler for shuffle=True (C38)
def epoch_batches_fixed(dataset, batch_size, epochs):
    loader = DataLoader(dataset, batch_size, shuffle=True)
    return [list(loader) for _ in range(epochs)]
