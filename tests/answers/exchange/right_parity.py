# even ranks send first, odd ranks receive first
def exchange(x: torch.Tensor) -> torch.Tensor:
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x.clone()
    arrived = torch.empty_like(x)
    if rank % 2 == 0:
        dist.send(x, dst=(rank + 1) % n)
        dist.recv(arrived, src=(rank - 1) % n)
    else:
        dist.recv(arrived, src=(rank - 1) % n)
        dist.send(x, dst=(rank + 1) % n)
    return arrived
