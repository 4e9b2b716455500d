# finding: too_many_tries
# one row more each time
def largest_batch(step):
    rows = 0
    try:
        while True:
            step(rows + 1)
            rows += 1
    except torch.OutOfMemoryError:
        return rows
