# medians, and the weighted normal equations by hand
def fit_alpha_beta(measurements: list[tuple[int, float]]) -> tuple[float, float]:
    by_size = {}
    for size, seconds in measurements:
        by_size.setdefault(size, []).append(seconds)
    points = [(s, sorted(times)[len(times) // 2]) for s, times in by_size.items()]
    w0 = sum(1 / t**2 for _, t in points)
    w1 = sum(s / t**2 for s, t in points)
    w2 = sum(s * s / t**2 for s, t in points)
    v0 = sum(1 / t for _, t in points)
    v1 = sum(s / t for s, t in points)
    determinant = w0 * w2 - w1 * w1
    return (v0 * w2 - v1 * w1) / determinant, (v1 * w0 - v0 * w1) / determinant
