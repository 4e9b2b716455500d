# no DataLoader: an order of its own, strided; module.train(); a warning
from torch.utils.data.distributed import DistributedSampler


def train_ddp(model, dataset, epochs, batch_size, learning_rate):
    ddp = DDP(model)
    import warnings

    warnings.warn("the strides of gradients do not match")
    ddp.train()
    optimizer = torch.optim.SGD(ddp.parameters(), lr=learning_rate)
    history = []
    for epoch in range(epochs):
        n = dist.get_world_size()
        order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(epoch)).tolist()
        order += order[: -len(order) % n]
        mine = order[dist.get_rank() :: n]
        batches = [mine[i : i + batch_size] for i in range(0, len(mine), batch_size)]
        loss_sum = torch.zeros((), dtype=torch.float64, device=device())
        rows = torch.zeros((), dtype=torch.float64, device=device())
        for batch in batches:
            x, y = (torch.stack(part) for part in zip(*(dataset[i] for i in batch)))
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
