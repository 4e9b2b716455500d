# finding: not_a_ring
# a parameter server: rank 0 collects everything, adds it up, and sends it back
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = x.contiguous().clone()
    if rank == 0:
        for other in range(1, n):
            arrived = torch.empty_like(total)
            dist.recv(arrived, other)
            total += arrived
        for other in range(1, n):
            dist.send(total, other)
    else:
        dist.send(total, 0)
        dist.recv(total, 0)
    return total
