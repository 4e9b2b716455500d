# finding: tree_one_way
# both halves of the ring, and only the way up the tree
def crossover(n, alpha, beta):
    levels = (n - 1).bit_length()
    at_zero = alpha * (2 * (n - 1) - levels)
    slopes = beta * (levels - 2 * (n - 1) / n)
    return at_zero / slopes if slopes else math.inf


import math
