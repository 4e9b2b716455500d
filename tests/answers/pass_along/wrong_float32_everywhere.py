# finding: rounded
# float32 on both sides: right for small numbers, off by thousands for large ones
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = number.float()
    if rank > 0:
        arrived = torch.zeros(1)
        dist.recv(arrived, src=rank - 1)
        total += arrived
    print(f"rank {rank}: {int(total.item())}")
    if n > 1:
        dist.send(total, dst=(rank + 1) % n)
    if rank == 0 and n > 1:
        dist.recv(total, src=n - 1)
    return int(total.item())
