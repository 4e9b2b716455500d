# finding: not_waited
# the handles of irecv are forgotten: the list may be read before it is filled
def all_gather(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    gathered = [torch.empty_like(x) for _ in range(n)]
    gathered[rank].copy_(x)
    for other in range(n):
        if other != rank:
            dist.isend(x, dst=other)
            dist.irecv(gathered[other], src=other)
    time.sleep(0.1)
    return gathered
