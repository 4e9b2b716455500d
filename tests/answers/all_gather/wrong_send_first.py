# finding: send_send
# C25: everybody sends to everybody, with blocking sends
def all_gather(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    gathered = [torch.empty_like(x) for _ in range(n)]
    gathered[rank].copy_(x)
    for other in range(n):
        if other != rank:
            dist.send(x, dst=other)
    for other in range(n):
        if other != rank:
            dist.recv(gathered[other], src=other)
    return gathered
