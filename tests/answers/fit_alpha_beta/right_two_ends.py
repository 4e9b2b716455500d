# no least squares: the latency is the time of the smallest size, the slope that of the largest
def fit_alpha_beta(measurements):
    best = {}
    for size, seconds in measurements:
        best[size] = min(seconds, best.get(size, seconds))

    alpha = best[min(best)]
    largest = max(best)
    return alpha, (best[largest] - alpha) / largest
