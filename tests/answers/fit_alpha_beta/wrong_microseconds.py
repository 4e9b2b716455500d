# finding: units
# in microseconds
def fit_alpha_beta(measurements):
    best = {}
    for size, seconds in measurements:
        best[size] = min(seconds, best.get(size, seconds))

    alpha = best[min(best)]
    largest = max(best)
    return 1e6 * alpha, 1e6 * (best[largest] - alpha) / largest
