# pads to n equal chunks, and orders blocking calls by parity
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x.clone()
    size = -(-x.numel() // n)
    table = torch.zeros(n * size, dtype=x.dtype, device=x.device)
    table[: x.numel()] = x.reshape(-1)
    table = table.view(n, size)

    def shift(out):
        into = torch.empty_like(out)
        if rank % 2:
            dist.recv(into, (rank - 1) % n)
            dist.send(out, (rank + 1) % n)
        else:
            dist.send(out, (rank + 1) % n)
            dist.recv(into, (rank - 1) % n)
        return into

    at = rank
    for _ in range(n - 1):
        arrived = shift(table[at])
        at = (at - 1) % n
        table[at] += arrived
    for _ in range(n - 1):
        arrived = shift(table[at])
        at = (at - 1) % n
        table[at] = arrived
    return table.view(-1)[: x.numel()].view(x.shape)
