def occupancy(registers, shared, block, limits):
    """Adds blocks until one more would not fit."""
    if block > 1024 or shared > limits.shared_block:
        return (0, 0)
    warps = -(-block // 32)
    per_warp = math.ceil(registers * 32 / 256) * 256
    if per_warp * 4 * math.ceil(warps / 4) > limits.registers:
        return (0, 0)
    room = 4 * (limits.registers // 4 // per_warp)
    taken = math.ceil(shared / 128) * 128 + 1024

    def fits(blocks):
        return (
            blocks <= limits.blocks
            and blocks * warps <= limits.threads // 32
            and blocks * warps <= room
            and blocks * taken <= limits.shared
        )

    blocks = 0
    while fits(blocks + 1):
        blocks += 1
    return (blocks, blocks * warps)
