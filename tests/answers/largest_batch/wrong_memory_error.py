# finding: exception
# MemoryError is Python's own, of the host's memory
def largest_batch(step):
    rows = 1
    while True:
        try:
            step(rows)
        except MemoryError:
            return rows // 2
        rows *= 2
