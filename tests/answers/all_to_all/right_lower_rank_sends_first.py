# blocking calls: of each pair, the lower rank sends first, and all go through the pairs alike
def all_to_all(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = [torch.empty_like(chunk) for chunk in chunks]
    for other in range(n):
        if other == rank:
            result[rank].copy_(chunks[rank])
        elif rank < other:
            dist.send(chunks[other], other)
            dist.recv(result[other], other)
        else:
            dist.recv(result[other], other)
            dist.send(chunks[other], other)
    return result
