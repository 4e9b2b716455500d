# finding: not_the_smallest
# >= takes the last of equals
def best_block(registers, shared_per_thread, limits, occupancy):
    best, most = 32, -1
    for block in range(32, 1025, 32):
        warps = occupancy(registers, block * shared_per_thread, block, limits)[1]
        if warps >= most:
            best, most = block, warps
    return best
