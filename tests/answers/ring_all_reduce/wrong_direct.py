# finding: not_a_ring
# each rank sends chunk j straight to rank j, and the sum back: as few bytes, but not a ring
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    parts = [part.clone() for part in x.reshape(-1).tensor_split(n)]
    others = [r for r in range(n) if r != rank]
    sends = [dist.isend(parts[r], r) for r in others]
    arrived = {r: torch.empty_like(parts[rank]) for r in others}
    for r in others:
        dist.recv(arrived[r], r)
    for work in sends:
        work.wait()
    parts[rank] = parts[rank] + sum(arrived.values())
    sends = [dist.isend(parts[rank], r) for r in others]
    for r in others:
        dist.recv(parts[r], r)
    for work in sends:
        work.wait()
    return torch.cat(parts).view(x.shape)
