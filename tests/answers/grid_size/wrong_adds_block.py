# finding: one_too_many
# adds block instead of block - 1
def grid_size(n, block):
    return (n + block) // block
