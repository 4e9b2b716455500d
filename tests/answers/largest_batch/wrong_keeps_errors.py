# finding: holds_memory
# keeps the exceptions in a list, and with them all that they hold
def largest_batch(step):
    errors = []

    def fits(rows):
        try:
            step(rows)
            return True
        except torch.OutOfMemoryError as error:
            errors.append(error)
            return False

    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
