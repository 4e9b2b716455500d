# finding: not_a_ring
# sends x to every other rank, in turns, and keeps one of the n - 1 that arrive
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    arrived = {rank: x}
    for sender in range(n):
        for receiver in range(n):
            if sender == receiver:
                continue
            if rank == sender:
                dist.send(x, receiver)
            if rank == receiver:
                arrived[sender] = torch.empty_like(x)
                dist.recv(arrived[sender], sender)
    return arrived[(rank - 1) % n]
