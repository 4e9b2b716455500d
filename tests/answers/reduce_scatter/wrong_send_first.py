# finding: send_send
# C25: blocking sends on all ranks at the same time
def reduce_scatter(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = chunks[rank].clone()
    for shift in range(1, n):
        dist.send(chunks[(rank + shift) % n], (rank + shift) % n)
        arrived = torch.empty_like(total)
        dist.recv(arrived, (rank - shift) % n)
        total += arrived
    return total
