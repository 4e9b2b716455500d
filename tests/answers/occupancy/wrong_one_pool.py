# finding: no_parts
# one pool of registers instead of four
def occupancy(registers, shared, block, limits):
    if block > 1024 or shared > limits.shared_block:
        return 0, 0
    warps = (block + 31) // 32
    of_warp = (32 * registers + 255) // 256 * 256
    by_registers = limits.registers // (of_warp * warps)
    by_shared = limits.shared // ((shared + 127) // 128 * 128 + 1024)
    blocks = min(limits.warps // warps, limits.blocks, by_registers, by_shared)
    return blocks, blocks * warps
