# finding: too_many_bytes
# an all-gather of everything, and a local sum
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    mine = torch.stack(chunks)
    handles = [dist.isend(mine, dst=r) for r in range(n) if r != rank]
    total = mine.clone()
    for r in range(n):
        if r != rank:
            arrived = torch.empty_like(mine)
            dist.recv(arrived, src=r)
            total += arrived
    for handle in handles:
        handle.wait()
    return total[rank].clone()
