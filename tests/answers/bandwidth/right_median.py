def bandwidth(work, synchronize, clock, moved):
    times = []
    for _ in range(7):
        synchronize()
        start = clock()
        work()
        synchronize()
        times.append(clock() - start)
    return moved / sorted(times)[len(times) // 2]
