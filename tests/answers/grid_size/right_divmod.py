def grid_size(n, block):
    whole, rest = divmod(n, block)
    return whole + (rest > 0)
