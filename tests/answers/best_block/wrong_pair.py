# finding: wrong_type
# returns warps and block
def best_block(registers, shared_per_thread, limits, occupancy):
    return max(
        (occupancy(registers, b * shared_per_thread, b, limits)[1], b) for b in range(32, 1025, 32)
    )
