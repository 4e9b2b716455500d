# finding: wrong_print
# prints the tensor: "rank 1: tensor([42])"
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = torch.zeros(1, dtype=torch.int64)
    if rank > 0:
        dist.recv(total, src=rank - 1)
    total += number
    print(f"rank {rank}: {total}")
    if n > 1:
        dist.send(total, dst=(rank + 1) % n)
        if rank == 0:
            dist.recv(total, src=n - 1)
    return total.item()
