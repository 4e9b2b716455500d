# finding: bytes_of_one
# ten calls timed, one call’s bytes
def bandwidth(work, synchronize, clock, moved):
    work()
    synchronize()
    begin = clock()
    for _ in range(10):
        work()
    synchronize()
    return moved / (clock() - begin)
