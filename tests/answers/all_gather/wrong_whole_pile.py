# finding: too_many_bytes
# a ring that sends all that it has in each step, the part that the neighbour knows as well
def all_gather(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    pile = torch.zeros((n, *x.shape), dtype=x.dtype)
    pile[rank] = x
    for _ in range(n - 1):
        arrived = torch.empty_like(pile)
        sending = dist.isend(pile.clone(), dst=(rank + 1) % n)
        dist.recv(arrived, src=(rank - 1) % n)
        sending.wait()
        pile = torch.maximum(pile, arrived)
    return [row.clone() for row in pile]
