# the optimizer is built before the wrap (C53); rank 0 prints
from torch.utils.data.distributed import DistributedSampler


def train_ddp(model, dataset, epochs, batch_size, learning_rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    ddp = DDP(model)
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset, batch_size=batch_size, sampler=sampler)
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
        history.append(loss_sum / rows)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: {history[-1]:.4f}")
    return history
