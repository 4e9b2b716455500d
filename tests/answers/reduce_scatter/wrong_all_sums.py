# finding: wrong_type
# returns the whole list
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    sums = [chunk.clone() for chunk in chunks]
    handles = [dist.isend(chunks[r], dst=r) for r in range(n) if r != rank]
    for r in range(n):
        if r != rank:
            arrived = torch.empty_like(chunks[rank])
            dist.recv(arrived, src=r)
            sums[rank] += arrived
    for handle in handles:
        handle.wait()
    return sums
