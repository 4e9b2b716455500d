# finding: always_the_same
# 256, as everybody does
def best_block(registers, shared_per_thread, limits, occupancy):
    return 256
