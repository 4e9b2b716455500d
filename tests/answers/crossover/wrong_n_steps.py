# finding: n_steps
# 2n steps of S/n bytes
def crossover(n, alpha, beta):
    import math

    levels = (n - 1).bit_length()
    return alpha / beta * (n - levels) / (levels - 1 or 1e-300)
