# finding: rounds
# round the ring: n - 1 messages, and n - 1 rounds as well
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    relative = (rank - src) % n
    if relative > 0:
        dist.recv(x, (rank - 1) % n)
    if relative < n - 1:
        dist.send(x, (rank + 1) % n)
