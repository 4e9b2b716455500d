# finding: largest_left_out
# range stops before its end
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
        return occupancy(registers, shared_per_thread * block, block, limits)[1]

    return max(range(32, 1024, 32), key=warps)
