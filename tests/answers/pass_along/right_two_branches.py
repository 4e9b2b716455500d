# rank 0 has a branch of its own; everybody else receives, prints, sends
def pass_along(number: torch.Tensor) -> int:
    rank, n = dist.get_rank(), dist.get_world_size()
    total = number.clone()
    if rank == 0:
        print(f"rank 0: {number.item()}")
        if n > 1:
            dist.send(total, dst=1)
            dist.recv(total, src=n - 1)
        return int(total)
    arrived = torch.zeros(1, dtype=torch.int64)
    dist.recv(arrived, src=rank - 1)
    total += arrived
    print(f"rank {rank}: {total.item()}")
    dist.send(total, dst=(rank + 1) % n)
    return int(total)
