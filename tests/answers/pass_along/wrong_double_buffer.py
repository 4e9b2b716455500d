# finding: dtypes_differ
# C24: int64 received as float64: the same size, so nothing complains, and tiny numbers arrive
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = number.clone()
    if rank > 0:
        arrived = torch.zeros(1, dtype=torch.float64)
        dist.recv(arrived, src=rank - 1)
        total = total + arrived.long()
    print(f"rank {rank}: {total.item()}")
    if n > 1:
        dist.send(total, dst=(rank + 1) % n)
    if rank == 0 and n > 1:
        dist.recv(total, src=n - 1)
    return total.item()
