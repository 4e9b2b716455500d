# finding: no_such_rank
# rank + 1 without the modulo: the last rank sends to a rank that does not exist
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = number.clone()
    if rank > 0:
        arrived = torch.zeros_like(total)
        dist.recv(arrived, src=rank - 1)
        total += arrived
    print(f"rank {rank}: {total.item()}")
    if n > 1:
        dist.send(total, dst=rank + 1)
    if rank == 0 and n > 1:
        dist.recv(total, src=n - 1)
    return total.item()
