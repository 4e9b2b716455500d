# finding: returned_nothing
# fills a list and keeps it
def all_gather(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    gathered = [torch.empty_like(x) for _ in range(n)]
    handles = [dist.isend(x, dst=other) for other in range(n) if other != rank]
    for other in range(n):
        if other != rank:
            dist.recv(gathered[other], src=other)
    for handle in handles:
        handle.wait()
