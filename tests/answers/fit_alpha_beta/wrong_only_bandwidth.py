# finding: latency_wrong
# no latency at all
def fit_alpha_beta(measurements):
    best = {}
    for size, seconds in measurements:
        best[size] = min(seconds, best.get(size, seconds))

    largest = max(best)
    return 0.0, best[largest] / largest
