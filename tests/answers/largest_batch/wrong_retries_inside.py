# finding: holds_memory
# tries again inside the except block, where the failed step's tensors still are
def largest_batch(step):
    def search(low, high):
        if high - low == 1:
            return low
        middle = (low + high) // 2
        try:
            step(middle)
        except torch.OutOfMemoryError:
            return search(low, middle)
        return search(middle, high)

    def double(high):
        try:
            step(high)
        except torch.OutOfMemoryError:
            return search(high // 2, high)
        return double(2 * high)

    return double(1)
