# finding: own_missing
# no message brings a rank its own tensor
def all_gather(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    gathered = [torch.zeros_like(x) for _ in range(n)]
    handles = []
    for other in range(n):
        if other != rank:
            handles.append(dist.isend(x, dst=other))
            handles.append(dist.irecv(gathered[other], src=other))
    for handle in handles:
        handle.wait()
    return gathered
