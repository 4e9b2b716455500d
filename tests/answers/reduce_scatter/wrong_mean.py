# finding: averaged
# divides by n
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    handles = [dist.isend(chunks[r], dst=r) for r in range(n) if r != rank]
    parts = [chunks[rank]]
    for r in range(n):
        if r != rank:
            parts.append(torch.empty_like(chunks[rank]))
            dist.recv(parts[-1], src=r)
    for handle in handles:
        handle.wait()
    return (sum(parts) / n).to(chunks[0].dtype)
