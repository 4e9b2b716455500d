# finding: bandwidth_wrong
# the slope between the two smallest sizes is noise
def fit_alpha_beta(measurements):
    best = {}
    for size, seconds in measurements:
        best[size] = min(seconds, best.get(size, seconds))

    sizes = sorted(best)
    alpha = best[sizes[0]]
    return alpha, abs(best[sizes[1]] - alpha) / (sizes[1] - sizes[0])
