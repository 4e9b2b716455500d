# finding: no_such_rank
# swaps with the partner rank ^ 1: right for two ranks, no shift, and rank 2 of 3 has no partner
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x
    partner = rank ^ 1
    arrived = torch.empty_like(x)
    if rank < partner:
        dist.send(x, partner)
        dist.recv(arrived, partner)
    else:
        dist.recv(arrived, partner)
        dist.send(x, partner)
    return arrived
