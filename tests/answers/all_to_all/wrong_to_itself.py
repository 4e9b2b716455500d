# finding: exception
# sends to itself as well
def all_to_all(chunks):
    n = dist.get_world_size()
    result = [torch.empty_like(chunk) for chunk in chunks]
    handles = [dist.isend(chunks[r], r) for r in range(n)]
    handles += [dist.irecv(result[r], r) for r in range(n)]
    for handle in handles:
        handle.wait()
    return result
