# finding: latency_wrong
# plain least squares: the largest message decides alone
def fit_alpha_beta(measurements):
    import numpy as np

    best = {}
    for size, seconds in measurements:
        best[size] = min(seconds, best.get(size, seconds))

    beta, alpha = np.polyfit(list(best), list(best.values()), 1)
    return alpha, beta
