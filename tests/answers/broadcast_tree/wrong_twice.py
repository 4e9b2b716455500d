# finding: too_many_messages
# everybody confirms by sending the data back: twice the traffic
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    relative, step = (rank - src) % n, 1
    while step < n:
        if relative < step:
            if relative + step < n:
                dist.send(x, (rank + step) % n)
                dist.recv(torch.empty_like(x), (rank + step) % n)
        elif relative < 2 * step:
            dist.recv(x, (rank - step) % n)
            dist.send(x, (rank - step) % n)
        step *= 2
