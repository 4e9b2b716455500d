def bandwidth(work, synchronize, clock, moved):
    for _ in range(3):
        work()
    synchronize()
    start = clock()
    for _ in range(20):
        work()
    synchronize()
    return 20 * moved / (clock() - start)
