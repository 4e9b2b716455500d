# finding: other_optimizer
# Adam instead of SGD
from torch.utils.data.distributed import DistributedSampler


def train_ddp(model, dataset, epochs, batch_size, learning_rate):
    ddp = DDP(model)
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset, batch_size=batch_size, sampler=sampler)
    optimizer = torch.optim.Adam(ddp.parameters(), lr=learning_rate)
    history = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        loss_sum = torch.zeros((), dtype=torch.float64, device=device())
        rows = torch.zeros((), dtype=torch.float64, device=device())
        for x, y in loader:
            x = x.to(device())
            y = y.to(device())
            optimizer.zero_grad()
            loss = ((ddp(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            loss_sum += loss.detach() * x.shape[0]
            rows += x.shape[0]
        dist.all_reduce(loss_sum)
        dist.all_reduce(rows)
        history.append(float(loss_sum / rows))
    return history
