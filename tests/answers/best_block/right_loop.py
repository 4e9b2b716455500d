def best_block(registers, shared_per_thread, limits, occupancy):
    best, most = 32, -1
    for block in range(32, 1024 + 32, 32):
        _, warps = occupancy(registers, block * shared_per_thread, block, limits)
        if warps > most:
            best, most = block, warps
    return best
