# finding: swallows_errors
# takes every error for too little memory
def largest_batch(step):
    def fits(rows):
        try:
            step(rows)
            return True
        except Exception:
            return False

    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
