def bandwidth(work, synchronize, clock, moved):
    def timed():
        synchronize()
        begin = clock()
        work()
        synchronize()
        return clock() - begin

    return moved / min(timed() for _ in range(5))
