# finding: wrong_shape
# returns the flat buffer: right for one dimension only
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    parts = [part.clone() for part in x.reshape(-1).tensor_split(n)]
    for step in range(2 * (n - 1)):
        out, into = (rank - step) % n, (rank - step - 1) % n
        sending = dist.isend(parts[out], (rank + 1) % n)
        arrived = torch.empty_like(parts[into])
        dist.recv(arrived, (rank - 1) % n)
        sending.wait()
        parts[into] = parts[into] + arrived if step < n - 1 else arrived
    return torch.cat(parts)
