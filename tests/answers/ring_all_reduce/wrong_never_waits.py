# finding: not_waited
# the handle of isend is thrown away, so the chunk may change while it is being sent
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    parts = [part.clone() for part in x.reshape(-1).tensor_split(n)]
    handles = []
    for step in range(2 * (n - 1)):
        out, into = (rank - step) % n, (rank - step - 1) % n
        handles.append(dist.isend(parts[out], (rank + 1) % n))
        arrived = torch.empty_like(parts[into])
        dist.recv(arrived, (rank - 1) % n)
        parts[into] = parts[into] + arrived if step < n - 1 else arrived
    time.sleep(0.02)
    return torch.cat(parts).view(x.shape)
