# finding: own_missing
# no message brings a rank its own chunk
def all_to_all(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = [torch.zeros_like(chunk) for chunk in chunks]
    handles = []
    for r in range(n):
        if r != rank:
            handles += [dist.isend(chunks[r], r), dist.irecv(result[r], r)]
    for handle in handles:
        handle.wait()
    return result
