# finding: above_the_peak
# names synchronize, and does not call it
def bandwidth(work, synchronize, clock, moved: int) -> float:
    """Bytes a second that a device moves.

    Args:
        work: queues one piece of work on the device, and comes back at once.
        synchronize: comes back when the device has finished all that was queued.
        clock: seconds, as time.perf_counter.
        moved: bytes that one call of work moves, read and written together.
    """
    work()  # the first call is slower than all others
    synchronize()
    begin = clock()
    for _ in range(10):
        work()
    synchronize
    return 10 * moved / (clock() - begin)
