# finding: one_too_many
# adds one always, also where nothing is left over
def grid_size(n, block):
    return n // block + 1
