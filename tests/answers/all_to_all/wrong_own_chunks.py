# finding: own_chunks
# everything arrives, and the input is returned
def all_to_all(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    handles = [dist.isend(chunks[r], r) for r in range(n) if r != rank]
    for r in range(n):
        if r != rank:
            arrived = torch.empty_like(chunks[r])
            dist.recv(arrived, r)
    for handle in handles:
        handle.wait()
    return chunks
