def largest_batch(step):
    def works(rows):
        error = None
        try:
            step(rows)
        except torch.OutOfMemoryError as e:
            error = str(e)
        return error is None

    def between(good, bad):
        if bad - good == 1:
            return good
        middle = good + (bad - good) // 2
        return between(middle, bad) if works(middle) else between(good, middle)

    size = 1
    while works(size):
        size *= 2
    return between(size // 2, size)
