# finding: too_many_bytes
# rank 0 adds everything up and hands the sums out
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    mine = torch.stack(chunks)
    if rank > 0:
        dist.send(mine, dst=0)
        total = torch.empty_like(chunks[0])
        dist.recv(total, src=0)
        return total
    for r in range(1, n):
        arrived = torch.empty_like(mine)
        dist.recv(arrived, src=r)
        mine += arrived
    for r in range(1, n):
        dist.send(mine[r], dst=r)
    return mine[0].clone()
