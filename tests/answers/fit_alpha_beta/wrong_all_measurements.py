# finding: disturbed
# weighted, but the disturbed measurements are in it
def fit_alpha_beta(measurements):
    import numpy as np

    by_size = {}
    for size, seconds in measurements:
        by_size.setdefault(size, []).append(seconds)
    sizes = np.array(list(by_size), dtype=float)
    times = np.array([sum(t) / len(t) for t in by_size.values()])
    beta, alpha = np.polyfit(sizes, times, 1, w=1 / times)
    return alpha, beta
