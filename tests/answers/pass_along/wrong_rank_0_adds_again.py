# finding: counted_twice
# rank 0 adds its number once more when the sum comes back
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        print(f"rank 0: {number.item()}")
        return number.item()
    total = torch.zeros(1, dtype=torch.int64)
    if rank > 0:
        dist.recv(total, src=rank - 1)
    total += number
    print(f"rank {rank}: {total.item()}")
    dist.send(total, dst=(rank + 1) % n)
    if rank == 0:
        dist.recv(total, src=n - 1)
        total += number
    return total.item()
