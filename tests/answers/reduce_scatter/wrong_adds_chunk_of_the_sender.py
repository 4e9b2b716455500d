# finding: wrong_value
# adds the chunk that it has just sent on to the one that arrives
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    partial = chunks[(rank - 1) % n].clone()
    for step in range(n - 1):
        sending = dist.isend(partial, dst=(rank + 1) % n)
        arrived = torch.empty_like(partial)
        dist.recv(arrived, src=(rank - 1) % n)
        sending.wait()
        partial = arrived + chunks[(rank - 1 - step) % n]
    return partial
