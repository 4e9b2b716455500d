# finding: wrong_length
# collects the n - 1 others
def all_gather(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    handles = [dist.isend(x, dst=other) for other in range(n) if other != rank]
    gathered = []
    for other in range(n):
        if other != rank:
            gathered.append(torch.empty_like(x))
            dist.recv(gathered[-1], src=other)
    for handle in handles:
        handle.wait()
    return gathered
