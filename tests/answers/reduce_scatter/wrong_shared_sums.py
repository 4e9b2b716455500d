# finding: all_chunks_added
# C27: n partial sums that are one tensor
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    sums = [torch.zeros_like(chunks[0])] * n
    for i in range(n):
        sums[i] += chunks[i]
    mine = sums[rank].clone()
    handles = [dist.isend(mine, dst=r) for r in range(n) if r != rank]
    for r in range(n):
        if r != rank:
            arrived = torch.empty_like(mine)
            dist.recv(arrived, src=r)
            sums[rank] += arrived
    for handle in handles:
        handle.wait()
    return sums[rank]
