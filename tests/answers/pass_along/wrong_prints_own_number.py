# finding: wrong_print
# prints what it knows at the start, without waiting for anything
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank}: {number.item()}")
    total = number.clone()
    if rank > 0:
        arrived = torch.zeros_like(total)
        dist.recv(arrived, src=rank - 1)
        total += arrived
    if n > 1:
        dist.send(total, dst=(rank + 1) % n)
    if rank == 0 and n > 1:
        dist.recv(total, src=n - 1)
    return total.item()
