# finding: partial_sums
# keeps only what arrived last
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    handles = [dist.isend(chunks[r], dst=r) for r in range(n) if r != rank]
    total = chunks[rank]
    for r in range(n):
        if r != rank:
            arrived = torch.empty_like(total)
            dist.recv(arrived, src=r)
            total = chunks[rank] + arrived
    for handle in handles:
        handle.wait()
    return total
