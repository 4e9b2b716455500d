# finding: bandwidth_wrong
# beta as the mean of seconds by bytes: for four bytes that is latency, not bandwidth
def fit_alpha_beta(measurements):
    best = {}
    for size, seconds in measurements:
        best[size] = min(seconds, best.get(size, seconds))

    return best[min(best)], sum(t / s for s, t in best.items()) / len(best) / 1000
