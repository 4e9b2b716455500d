# finding: not_waited
# the handles are thrown away
def all_to_all(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = [chunk.clone() for chunk in chunks]
    for r in range(n):
        if r != rank:
            dist.isend(chunks[r], r)
            dist.irecv(result[r], r)
    time.sleep(0.1)
    return result
