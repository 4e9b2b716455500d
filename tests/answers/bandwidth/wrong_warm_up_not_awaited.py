# finding: starts_too_early
# C94: the warm-up is still running when the watch starts
def bandwidth(work, synchronize, clock, moved):
    work()
    begin = clock()
    for _ in range(10):
        work()
    synchronize()
    return 10 * moved / (clock() - begin)
