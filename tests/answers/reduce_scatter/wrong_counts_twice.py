# finding: counted_twice
# begins with its own chunk, and adds it again in the loop
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    handles = [dist.isend(chunks[r], dst=r) for r in range(n) if r != rank]
    total = chunks[rank].clone()
    for r in range(n):
        arrived = chunks[rank].clone()
        if r != rank:
            dist.recv(arrived, src=r)
        total += arrived
    for handle in handles:
        handle.wait()
    return total
