# finding: only_powers_of_two
# doubles, and stops there
def largest_batch(step):
    rows = 1
    try:
        while True:
            step(rows)
            rows *= 2
    except torch.OutOfMemoryError:
        return rows // 2
