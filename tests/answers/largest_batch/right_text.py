def largest_batch(step):
    def fits(rows):
        try:
            step(rows)
            return True
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            return False

    high = 1
    while fits(high):
        high *= 2
    low = high // 2
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
