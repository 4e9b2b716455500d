# finding: sizes_differ
# C24: sends int64 (8 bytes) and receives into torch.zeros(1), which is float32 (4 bytes)
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = number.clone()
    if rank > 0:
        arrived = torch.zeros(1)
        dist.recv(arrived, src=rank - 1)
        total = total + arrived.long()
    print(f"rank {rank}: {total.item()}")
    if n > 1:
        dist.send(total, dst=(rank + 1) % n)
    if rank == 0 and n > 1:
        dist.recv(total, src=n - 1)
    return total.item()
