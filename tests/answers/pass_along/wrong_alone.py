# finding: exception
# right for 2 ranks and more; with one rank, the neighbour is the rank itself
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = number.clone()
    if rank > 0:
        arrived = torch.zeros_like(total)
        dist.recv(arrived, src=rank - 1)
        total += arrived
    print(f"rank {rank}: {total.item()}")
    dist.send(total, dst=(rank + 1) % n)
    if rank == 0:
        dist.recv(total, src=n - 1)
    return total.item()
