# MPI's way: receive at one's lowest set bit, then send at all lower ones, highest first
def broadcast_tree(x, src):
    n = dist.get_world_size()
    me = (dist.get_rank() - src) % n
    mask = 1
    while mask < n and not me & mask:
        mask <<= 1
    if me:
        dist.recv(x, src=(me - mask + src) % n)
    mask >>= 1
    while mask:
        if me + mask < n:
            dist.send(x, dst=(me + mask + src) % n)
        mask >>= 1
