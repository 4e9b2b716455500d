# recursive: whoever has the data for a range of ranks hands the upper half to its first rank
def broadcast_tree(x, src):
    n = dist.get_world_size()
    me = (dist.get_rank() - src) % n

    def spread(first, last):
        if last - first < 2:
            return
        middle = (first + last + 1) // 2
        if me == first:
            dist.send(x, (middle + src) % n)
        if me == middle:
            dist.recv(x, (first + src) % n)
        if me < middle:
            spread(first, middle)
        else:
            spread(middle, last)

    spread(0, n)
