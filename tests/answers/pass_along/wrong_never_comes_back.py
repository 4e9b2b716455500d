# finding: missing_peer
# the last rank sends to nobody, as in a line; rank 0 waits for the ring to close
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = number.clone()
    if rank > 0:
        arrived = torch.zeros_like(total)
        dist.recv(arrived, src=rank - 1)
        total += arrived
    print(f"rank {rank}: {total.item()}")
    if rank < n - 1:
        dist.send(total, dst=rank + 1)
    if rank == 0 and n > 1:
        dist.recv(total, src=n - 1)
    return total.item()
