# finding: sizes_differ
# C24: torch.zeros(shape) is float32, and the first case is int64
def all_to_all(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = [torch.zeros(chunk.shape) for chunk in chunks]
    result[rank] = chunks[rank].clone()
    handles = [dist.isend(chunks[r], r) for r in range(n) if r != rank]
    for r in range(n):
        if r != rank:
            dist.recv(result[r], r)
    for handle in handles:
        handle.wait()
    return result
