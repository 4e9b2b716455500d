def grid_size(n, block):
    return -(-n // block)
