# finding: blocks_compared
# compares the pair, and so the blocks first
def best_block(registers: int, shared_per_thread: int, limits, occupancy) -> int:
    """The block, a multiple of 32 up to 1,024, with the most resident warps an SM.

    Of several that are equally good, the smallest.

    Args:
        registers: of each thread.
        shared_per_thread: bytes; a block of 256 threads takes 256 times as many.
        limits: what one SM has.
        occupancy: a function like yours of the last exercise.
    """

    def warps(block):
        return occupancy(registers, shared_per_thread * block, block, limits)

    return max(range(32, 1025, 32), key=warps)
