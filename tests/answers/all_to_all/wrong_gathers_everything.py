# finding: too_many_bytes
# everybody gets everything, and picks its own column
def all_to_all(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    mine = torch.stack(chunks)
    handles = [dist.isend(mine, r) for r in range(n) if r != rank]
    result = []
    for r in range(n):
        arrived = mine.clone()
        if r != rank:
            dist.recv(arrived, r)
        result.append(arrived[rank].clone())
    for handle in handles:
        handle.wait()
    return result
