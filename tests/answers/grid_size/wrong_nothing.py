# finding: returned_nothing
# prints instead of returning
def grid_size(n, block):
    print((n + block - 1) // block)
