# finding: not_waited
# irecv, a sleep "to be sure", and never a wait
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = torch.zeros(1, dtype=torch.int64)
    if rank > 0:
        handle = dist.irecv(total, src=rank - 1)
        time.sleep(0.03 * rank)
    total += number
    print(f"rank {rank}: {total.item()}")
    if n > 1:
        dist.send(total, dst=(rank + 1) % n)
        if rank == 0:
            dist.recv(total, src=n - 1)
    return total.item()
