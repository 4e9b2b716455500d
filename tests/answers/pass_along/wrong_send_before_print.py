# finding: print_order
# passes the sum on and then prints: the order is right only when this rank is quicker
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = number.clone()
    if rank > 0:
        arrived = torch.zeros_like(total)
        dist.recv(arrived, src=rank - 1)
        total += arrived
    if n > 1:
        dist.send(total, dst=(rank + 1) % n)
    print(f"rank {rank}: {total.item()}")
    if rank == 0 and n > 1:
        back = torch.zeros_like(total)
        dist.recv(back, src=n - 1)
        return back.item()
    return total.item()
