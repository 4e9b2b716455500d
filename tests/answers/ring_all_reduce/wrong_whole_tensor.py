# finding: too_many_bytes
# ARENA's ring: the whole tensor goes round in every step, and each rank adds what arrives
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = x.clone(memory_format=torch.contiguous_format)
    moving = total.clone()
    for _ in range(n - 1):
        arrived = torch.empty_like(moving)
        sending = dist.isend(moving, (rank + 1) % n)
        dist.recv(arrived, (rank - 1) % n)
        sending.wait()
        total += arrived
        moving = arrived
    return total
