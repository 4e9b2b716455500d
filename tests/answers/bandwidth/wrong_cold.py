# finding: no_warm_up
# waits, but the first call is in the time
def bandwidth(work, synchronize, clock, moved):
    synchronize()
    begin = clock()
    for _ in range(10):
        work()
    synchronize()
    return 10 * moved / (clock() - begin)
