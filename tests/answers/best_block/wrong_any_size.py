# finding: no_block
# sizes that are not whole warps
def best_block(registers, shared_per_thread, limits, occupancy):
    return max(
        range(1, 1025),
        key=lambda b: occupancy(registers, b * shared_per_thread, b, limits)[0] * b,
    ) - 1
