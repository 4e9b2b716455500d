# finding: missing_peer
# C19: a barrier that only the rank whose turn it is can reach
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = number.clone()
    if rank == 0:
        print(f"rank 0: {number.item()}")
        dist.barrier()
        return number.item()
    arrived = torch.zeros_like(total)
    return int(total + arrived)
