# finding: partial_sums
# adds up what arrives, and forgets its own chunk
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    handles = [dist.isend(chunks[r], dst=r) for r in range(n) if r != rank]
    total = torch.zeros_like(chunks[rank])
    for r in range(n):
        if r != rank:
            arrived = torch.empty_like(total)
            dist.recv(arrived, src=r)
            total += arrived
    for handle in handles:
        handle.wait()
    return total
