# finding: inverted
# beta / alpha
def crossover(n, alpha, beta):
    import math

    levels = (n - 1).bit_length()
    return beta / alpha * (n - 1 - levels) / (levels - (n - 1) / n)
