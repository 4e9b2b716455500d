# finding: swapped
# the order of numpy.polyfit
def fit_alpha_beta(measurements):
    import numpy as np

    best = {}
    for size, seconds in measurements:
        best[size] = min(seconds, best.get(size, seconds))

    times = np.array(list(best.values()))
    return tuple(np.polyfit(np.array(list(best), dtype=float), times, 1, w=1 / times))
