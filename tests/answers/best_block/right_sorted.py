def best_block(registers, shared_per_thread, limits, occupancy):
    def rank(block):
        return -occupancy(registers, shared_per_thread * block, block, limits)[1], block

    return sorted((32 * k for k in range(1, 33)), key=rank)[0]
