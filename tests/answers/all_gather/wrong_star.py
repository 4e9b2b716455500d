# finding: too_many_bytes
# rank 0 collects, and sends everything to everybody
def all_gather(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    gathered = [torch.empty_like(x) for _ in range(n)]
    gathered[rank].copy_(x)
    if rank == 0:
        for other in range(1, n):
            dist.recv(gathered[other], src=other)
        for other in range(1, n):
            for tensor in gathered:
                dist.send(tensor, dst=other)
    else:
        dist.send(x, dst=0)
        for tensor in gathered:
            dist.recv(tensor, src=0)
    return gathered
