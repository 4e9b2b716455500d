# finding: own_tensor
# sends and receives, and returns what it had
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    handles = [dist.isend(chunks[r], dst=r) for r in range(n) if r != rank]
    for r in range(n):
        if r != rank:
            arrived = torch.empty_like(chunks[rank])
            dist.recv(arrived, src=r)
            arrived += chunks[rank]
    for handle in handles:
        handle.wait()
    return chunks[rank]
