# finding: above_the_peak
# C94: never waits
def bandwidth(work, synchronize, clock, moved):
    work()
    begin = clock()
    for _ in range(10):
        work()
    return 10 * moved / (clock() - begin)
