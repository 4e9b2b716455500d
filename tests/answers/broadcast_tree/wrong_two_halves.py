# finding: rounds
# a tree of depth two: as good as any up to 6 ranks, too slow for 7
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    me, half = (rank - src) % n, (n + 1) // 2
    if me == 0:
        if half < n:
            dist.send(x, (half + src) % n)
        for other in range(1, half):
            dist.send(x, (other + src) % n)
    elif me == half:
        dist.recv(x, src)
        for other in range(half + 1, n):
            dist.send(x, (other + src) % n)
    else:
        dist.recv(x, src if me < half else (half + src) % n)
