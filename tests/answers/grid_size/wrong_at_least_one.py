# finding: empty_grid
# believes that a grid of no blocks must be avoided here
def grid_size(n, block):
    return max(1, (n + block - 1) // block)
