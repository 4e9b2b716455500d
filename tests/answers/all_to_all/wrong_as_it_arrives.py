# finding: wrong_order
# appends what arrives, its own chunk first
def all_to_all(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = [chunks[rank].clone()]
    for shift in range(1, n):
        sending = dist.isend(chunks[(rank + shift) % n], (rank + shift) % n)
        result.append(torch.empty_like(chunks[0]))
        dist.recv(result[-1], (rank - shift) % n)
        sending.wait()
    return result
