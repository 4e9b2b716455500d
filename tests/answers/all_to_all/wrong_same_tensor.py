# finding: aliased
# C27: [t] * n: all entries are the chunk that arrived last
def all_to_all(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = [torch.zeros_like(chunks[0])] * n
    handles = [dist.isend(chunks[r], r) for r in range(n) if r != rank]
    for r in range(n):
        if r == rank:
            result[r].copy_(chunks[r])
        else:
            dist.recv(result[r], r)
    for handle in handles:
        handle.wait()
    return result
