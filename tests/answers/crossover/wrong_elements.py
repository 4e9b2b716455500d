# finding: elements
# in float32 elements
def crossover(n, alpha, beta):
    import math

    levels = (n - 1).bit_length()
    return alpha / beta / 4 * (n - 1 - levels) / (levels - (n - 1) / n)
