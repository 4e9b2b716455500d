# finding: off_by_one
# the smallest that does not fit
def largest_batch(step):
    def fits(rows):
        try:
            step(rows)
            return True
        except torch.OutOfMemoryError:
            return False

    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return high
