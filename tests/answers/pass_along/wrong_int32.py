# finding: exception
# int32 for the message: small numbers fit, large ones do not
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = torch.zeros(1, dtype=torch.int32)
    if rank > 0:
        dist.recv(total, src=rank - 1)
    total = torch.tensor([total.item() + number.item()], dtype=torch.int32)
    print(f"rank {rank}: {total.item()}")
    if n > 1:
        dist.send(total, dst=(rank + 1) % n)
        if rank == 0:
            dist.recv(total, src=n - 1)
    return total.item()
