# finding: rounded_down
# C84: integer division alone: the last elements get no thread
def grid_size(n, block):
    return n // block
