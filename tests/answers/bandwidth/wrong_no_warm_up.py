# finding: no_warm_up
# the first call, and what was queued before, are in the time
def bandwidth(work, synchronize, clock, moved):
    begin = clock()
    for _ in range(10):
        work()
    synchronize()
    return 10 * moved / (clock() - begin)
