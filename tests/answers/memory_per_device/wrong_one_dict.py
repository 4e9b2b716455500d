# finding: not_by_device
# one dict for all
def memory_per_device(widths, rows, devices, optimizer, activation):
    return {"parameters": 4 * sum(a * b + b for a, b in zip(widths, widths[1:]))}
