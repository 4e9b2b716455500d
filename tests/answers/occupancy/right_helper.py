def up(x, unit):
    return x + -x % unit


def occupancy(registers: int, shared: int, block: int, limits) -> tuple[int, int]:
    w = up(block, 32) // 32
    per_warp = up(32 * registers, 256)
    candidates = [limits.blocks, limits.warps // w, limits.shared // (up(shared, 128) + 1024)]
    whole = per_warp * up(w, 4) <= limits.registers
    candidates.append((limits.registers // (4 * per_warp)) * 4 // w if whole else 0)
    allowed = block <= 1024 and shared <= limits.shared_block
    b = min(candidates) * allowed
    return [b, b * w]
