# finding: wrong_value
# n.bit_length() is one too many for powers of two
def crossover(n, alpha, beta):
    import math

    levels = n.bit_length()
    return alpha / beta * (n - 1 - levels) / (levels - (n - 1) / n)
