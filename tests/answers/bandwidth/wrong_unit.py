# finding: unit
# GB/s where bytes a second are wanted
def bandwidth(work, synchronize, clock, moved):
    work()
    synchronize()
    begin = clock()
    for _ in range(10):
        work()
    synchronize()
    return 10 * moved / (clock() - begin) / 1e9
