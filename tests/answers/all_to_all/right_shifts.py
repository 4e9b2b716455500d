# step s: to the rank s above, from the rank s below
def all_to_all(chunks: list[torch.Tensor]) -> list[torch.Tensor]:
    rank, n = dist.get_rank(), dist.get_world_size()
    result = [chunk.clone() for chunk in chunks]
    for shift in range(1, n):
        to, source = (rank + shift) % n, (rank - shift) % n
        sending = dist.isend(chunks[to], to)
        dist.recv(result[source], source)
        sending.wait()
    return result
