# finding: always_the_same
# the most blocks instead of the most warps
def best_block(registers, shared_per_thread, limits, occupancy):
    return max(
        range(32, 1025, 32),
        key=lambda b: occupancy(registers, b * shared_per_thread, b, limits)[0],
    )
