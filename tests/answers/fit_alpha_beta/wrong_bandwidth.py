# finding: bandwidth
# returns bytes a second
def fit_alpha_beta(measurements):
    best = {}
    for size, seconds in measurements:
        best[size] = min(seconds, best.get(size, seconds))

    alpha = best[min(best)]
    largest = max(best)
    return alpha, largest / (best[largest] - alpha)
