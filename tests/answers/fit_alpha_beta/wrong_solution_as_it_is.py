# finding: returned_nothing
# prints the result
def fit_alpha_beta(measurements):
    best = {}
    for size, seconds in measurements:
        best[size] = min(seconds, best.get(size, seconds))

    alpha = best[min(best)]
    print(alpha, (best[max(best)] - alpha) / max(best))
