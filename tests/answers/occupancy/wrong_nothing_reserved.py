# finding: nothing_reserved
# forgets what the system keeps of shared memory
def occupancy(registers, shared, block, limits):
    if block > 1024 or shared > limits.shared_block:
        return 0, 0
    warps = (block + 31) // 32
    of_warp = (32 * registers + 255) // 256 * 256
    by_registers = limits.registers // 4 // of_warp * 4 // warps
    if of_warp * ((warps + 3) // 4 * 4) > limits.registers:
        by_registers = 0
    by_shared = limits.shared // ((shared + 127) // 128 * 128 or 1)
    blocks = min(limits.warps // warps, limits.blocks, by_registers, by_shared)
    return blocks, blocks * warps
