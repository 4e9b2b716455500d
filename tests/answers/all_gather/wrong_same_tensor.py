# finding: aliased
# C27: [t] * n is n names for one tensor
def all_gather(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    gathered = [torch.zeros_like(x)] * n
    gathered[rank].copy_(x)
    handles = []
    for other in range(n):
        if other != rank:
            handles.append(dist.isend(x, dst=other))
            dist.recv(gathered[other], src=other)
    for handle in handles:
        handle.wait()
    return gathered
