# finding: rounds_not_whole
# log2 of 5 is 2.3; there are 3 rounds
def crossover(n, alpha, beta):
    import math

    levels = math.log2(n)
    return alpha / beta * (n - 1 - levels) / (levels - (n - 1) / n)
