# finding: not_a_ring
# rank 0 talks to each rank in turn; right values, right order, and rank 0 is the bottleneck
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = number.clone()
    if rank == 0:
        print(f"rank 0: {number.item()}")
        for other in range(1, n):
            dist.send(total, other)
            dist.recv(total, other)
        return total.item()
    dist.recv(total, 0)
    total += number
    print(f"rank {rank}: {total.item()}")
    dist.send(total, 0)
    return total.item()
