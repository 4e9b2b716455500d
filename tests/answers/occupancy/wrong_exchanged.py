# finding: exchanged
# warps first
def occupancy(registers: int, shared: int, block: int, limits) -> tuple[int, int]:
    """How many blocks, and how many warps, of one kernel an SM holds at the same time.

    Args:
        registers: of each thread.
        shared: bytes of shared memory of each block.
        block: threads of a block, at least 1.
        limits: what one SM has: limits.warps, limits.blocks, limits.registers, limits.shared
            (bytes), and limits.shared_block, the most bytes one block may ask for.

    Returns:
        (blocks, warps); (0, 0) where a launch would be refused.
    """
    if block > 1024 or shared > limits.shared_block:
        return 0, 0
    warps = (block + 31) // 32
    of_warp = (32 * registers + 255) // 256 * 256
    by_registers = limits.registers // 4 // of_warp * 4 // warps
    if of_warp * ((warps + 3) // 4 * 4) > limits.registers:
        by_registers = 0
    by_shared = limits.shared // ((shared + 127) // 128 * 128 + 1024)
    blocks = min(limits.warps // warps, limits.blocks, by_registers, by_shared)
    return blocks * warps, blocks
