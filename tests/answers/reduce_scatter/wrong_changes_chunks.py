# finding: input_changed
# adds into the caller's chunks
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    for step in range(n - 1):
        sending = dist.isend(chunks[(rank - 1 - step) % n], dst=(rank + 1) % n)
        arrived = torch.empty_like(chunks[0])
        dist.recv(arrived, src=(rank - 1) % n)
        sending.wait()
        chunks[(rank - 2 - step) % n] += arrived
    return chunks[rank]
