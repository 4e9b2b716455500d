# no algebra: halves the interval until the two times are equal
def crossover(n: int, alpha: float, beta: float) -> float:
    def ring_minus_tree(size):
        ring = 2 * (n - 1) * (alpha + beta * size / n)
        tree = 2 * (n - 1).bit_length() * (alpha + beta * size)
        return ring - tree

    low, high = 0.0, 1e15
    if ring_minus_tree(low) <= 0:
        return 0.0
    for _ in range(200):
        middle = (low + high) / 2
        if ring_minus_tree(middle) > 0:
            low = middle
        else:
            high = middle
    return high
