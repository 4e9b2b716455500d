# finding: above_the_peak
# C94: the watch is stopped when everything is queued
def bandwidth(work, synchronize, clock, moved):
    work()
    synchronize()
    begin = clock()
    for _ in range(10):
        work()
    return 10 * moved / (clock() - begin)
