# both times are straight lines in the size: the difference at 0 by the difference of the slopes
def crossover(n, alpha, beta):
    import math

    levels = math.ceil(math.log2(n))
    at_zero = 2 * (n - 1) * alpha - 2 * levels * alpha
    slopes = 2 * levels * beta - 2 * (n - 1) / n * beta
    return max(0, at_zero / slopes)
