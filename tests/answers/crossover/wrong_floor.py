# finding: rounded_down
# int() rounds down
def crossover(n, alpha, beta):
    import math

    levels = int(math.log2(n))
    return alpha / beta * (n - 1 - levels) / (levels - (n - 1) / n)
