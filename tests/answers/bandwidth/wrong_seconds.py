# finding: seconds
# the time instead of the rate
def bandwidth(work, synchronize, clock, moved):
    work()
    synchronize()
    begin = clock()
    for _ in range(10):
        work()
    synchronize()
    return (clock() - begin) / 10
