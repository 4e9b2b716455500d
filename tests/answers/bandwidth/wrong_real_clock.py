# finding: no_stopwatch
# a clock of its own: not the one that was given
def bandwidth(work, synchronize, clock, moved):
    work()
    synchronize()
    begin = time.perf_counter()
    for _ in range(10):
        work()
    synchronize()
    return 10 * moved / (time.perf_counter() - begin)
