# finding: not_whole
# a float is no number of blocks
def grid_size(n, block):
    return (n + block - 1) / block
