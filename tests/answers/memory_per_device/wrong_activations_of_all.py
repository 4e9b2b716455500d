# finding: all_rows_everywhere
# every device keeps activations of the whole batch; and no input
def memory_per_device(widths, rows, devices, optimizer, activation):
    weights = 4 * sum(a * b + b for a, b in zip(widths, widths[1:]))
    kept = widths[0] + sum(widths[1:-1]) * (2 if activation == "gelu" else 1)
    return [
        {
            "parameters": weights,
            "gradients": weights,
            "optimizer state": weights,
            "activations": 4 * rows * kept,
            "outputs": 4 * rows * widths[-1],
        }
        for d in range(devices)
    ]
