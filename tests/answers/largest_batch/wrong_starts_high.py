# finding: too_many_tries
# begins at a guess, and comes down by tens
def largest_batch(step):
    rows = 10000
    while rows > 0:
        try:
            step(rows)
            return rows
        except torch.OutOfMemoryError:
            rows -= 10
    return 0
