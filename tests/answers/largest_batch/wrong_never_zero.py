# finding: nothing_fits
# takes for granted that one row fits
def largest_batch(step):
    def fits(rows):
        try:
            step(rows)
            return True
        except torch.OutOfMemoryError:
            return False

    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
