# finding: other_learning_rate
# multiplies the learning rate with the number of ranks
def train_ddp(model, dataset, epochs, batch_size, learning_rate):
    ddp = DDP(model)
    sampler = torch.utils.data.DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size, sampler=sampler)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=learning_rate * dist.get_world_size())
    losses = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(2, dtype=torch.float64, device=device())
        for x, y in loader:
            x, y = x.to(device()), y.to(device())
            optimizer.zero_grad()
            loss = F.mse_loss(ddp(x), y)
            loss.backward()
            optimizer.step()
            total[0] += loss.item() * len(x)
            total[1] += len(x)
        dist.all_reduce(total)
        losses.append((total[0] / total[1]).item())
    return losses
