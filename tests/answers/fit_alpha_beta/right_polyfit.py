# numpy's polyfit with weights; it gives the slope first
def fit_alpha_beta(measurements):
    import numpy as np

    best = {}
    for size, seconds in measurements:
        best[size] = min(seconds, best.get(size, seconds))

    sizes, times = np.array(list(best), dtype=float), np.array(list(best.values()))
    beta, alpha = np.polyfit(sizes, times, 1, w=1 / times)
    return alpha, beta
