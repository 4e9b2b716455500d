# a ring to the left, with irecv, and out of place
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    i = (rank + 1) % n
    partial = chunks[i]
    for _ in range(n - 1):
        sending = dist.isend(partial, (rank - 1) % n)
        arrived = torch.empty_like(partial)
        receiving = dist.irecv(arrived, (rank + 1) % n)
        receiving.wait()
        sending.wait()
        i = (i + 1) % n
        partial = arrived + chunks[i]
    return partial.clone()
