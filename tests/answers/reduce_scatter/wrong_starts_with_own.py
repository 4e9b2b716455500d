# finding: wrong_chunk
# the first half of the ring all-reduce as it was: rank r completes chunk r + 1
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    partial = chunks[rank].clone()
    for step in range(n - 1):
        sending = dist.isend(partial, dst=(rank + 1) % n)
        arrived = torch.empty_like(partial)
        dist.recv(arrived, src=(rank - 1) % n)
        sending.wait()
        partial = arrived + chunks[(rank - 1 - step) % n]
    return partial
