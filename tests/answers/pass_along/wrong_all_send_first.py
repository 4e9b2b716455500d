# finding: send_send
# C25: everybody sends and then receives, because "send returns at once"
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = number.clone()
    if n > 1:
        dist.send(total, dst=(rank + 1) % n)
        arrived = torch.zeros_like(total)
        dist.recv(arrived, src=(rank - 1) % n)
        total += arrived
    print(f"rank {rank}: {total.item()}")
    return total.item()
