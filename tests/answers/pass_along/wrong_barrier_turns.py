# finding: used_collective
# the textbook's way to print in order: n barriers, and a gather for the values
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    numbers = [torch.zeros(1, dtype=torch.int64) for _ in range(n)]
    dist.all_gather(numbers, number)
    total = sum(t.item() for t in numbers[: rank + 1])
    for turn in range(n):
        if turn == rank:
            print(f"rank {rank}: {total}")
        dist.barrier()
    return total if rank else sum(t.item() for t in numbers)
