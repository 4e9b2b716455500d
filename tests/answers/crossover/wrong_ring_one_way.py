# finding: ring_one_way
# n - 1 steps for the ring, both ways for the tree
def crossover(n, alpha, beta):
    import math

    levels = (n - 1).bit_length()
    return alpha / beta * (n - 1 - 2 * levels) / (2 * levels - (n - 1) / n)
