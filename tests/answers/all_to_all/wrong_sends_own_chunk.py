# finding: wrong_chunk
# sends chunks[rank] to everybody
def all_to_all(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = [chunk.clone() for chunk in chunks]
    handles = [dist.isend(chunks[rank], r) for r in range(n) if r != rank]
    for r in range(n):
        if r != rank:
            dist.recv(result[r], r)
    for handle in handles:
        handle.wait()
    return result
