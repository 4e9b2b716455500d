# finding: cannot_be_launched
# the seed: a block as large as possible
def best_block(registers, shared_per_thread, limits, occupancy):
    return 1024
