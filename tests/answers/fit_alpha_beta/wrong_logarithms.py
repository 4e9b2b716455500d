# finding: wrong_fit
# a straight line through the logarithms is another model: a power law
def fit_alpha_beta(measurements):
    import numpy as np

    best = {}
    for size, seconds in measurements:
        best[size] = min(seconds, best.get(size, seconds))

    slope, intercept = np.polyfit(np.log(list(best)), np.log(list(best.values())), 1)
    return float(np.exp(intercept)), slope
