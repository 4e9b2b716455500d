# finding: rounded_to_nearest
# rounds to the nearest number of blocks
def grid_size(n, block):
    return round(n / block)
