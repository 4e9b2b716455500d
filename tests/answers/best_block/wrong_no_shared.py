# finding: shared_forgotten
# shared memory is left out
def best_block(registers, shared_per_thread, limits, occupancy):
    return max(range(32, 1025, 32), key=lambda b: occupancy(registers, 0, b, limits)[1])
