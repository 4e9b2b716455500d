# finding: wrong_root
# builds the tree on real ranks, as if src were always 0
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    step = 1
    while step < n:
        if rank < step:
            if rank + step < n:
                dist.send(x, rank + step)
        elif rank < 2 * step:
            dist.recv(x, rank - step)
        step *= 2
