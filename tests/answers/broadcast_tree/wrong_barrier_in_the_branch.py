# finding: used_collective
# C19: senders meet at a barrier after each round; ranks without work in that round do not
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    relative, step = (rank - src) % n, 1
    while step < n:
        if relative < step:
            if relative + step < n:
                dist.send(x, (rank + step) % n)
        elif relative < 2 * step:
            dist.recv(x, (rank - step) % n)
        dist.barrier()
        step *= 2
