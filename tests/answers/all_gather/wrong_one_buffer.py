# finding: aliased
# one buffer for all that arrives, appended again and again
def all_gather(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    gathered, buffer = [], torch.empty_like(x)
    handles = [dist.isend(x, dst=other) for other in range(n) if other != rank]
    for other in range(n):
        if other == rank:
            gathered.append(x)
        else:
            dist.recv(buffer, src=other)
            gathered.append(buffer)
    for handle in handles:
        handle.wait()
    return gathered
