# finding: powers_of_two
# powers of two only
def best_block(registers, shared_per_thread, limits, occupancy):
    sizes = [32, 64, 128, 256, 512, 1024]
    return max(sizes, key=lambda b: occupancy(registers, b * shared_per_thread, b, limits)[1])
