# finding: disturbed
# dict() keeps one measurement of each size, and by chance a disturbed one; the slowest here
def fit_alpha_beta(measurements):
    slowest = dict(sorted(measurements, key=lambda pair: pair[1]))
    alpha, largest = slowest[min(slowest)], max(slowest)
    return alpha, (slowest[largest] - alpha) / largest
