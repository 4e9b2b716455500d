# finding: bits
# bits
def bandwidth(work, synchronize, clock, moved):
    work()
    synchronize()
    begin = clock()
    for _ in range(10):
        work()
    synchronize()
    return 80 * moved / (clock() - begin)
