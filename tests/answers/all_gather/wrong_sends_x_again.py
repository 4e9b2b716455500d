# finding: wrong_tensor
# sends its own x in every step, so the left neighbour's arrives each time
def all_gather(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    gathered = [torch.empty_like(x) for _ in range(n)]
    gathered[rank].copy_(x)
    for step in range(n - 1):
        sending = dist.isend(x, dst=(rank + 1) % n)
        dist.recv(gathered[(rank - 1 - step) % n], src=(rank - 1) % n)
        sending.wait()
    return gathered
