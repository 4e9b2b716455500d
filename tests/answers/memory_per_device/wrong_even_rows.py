# finding: rows_shared_evenly
# rows / devices, as if they could be cut
def memory_per_device(widths, rows, devices, optimizer, activation):
    weights = 4 * sum(a * b + b for a, b in zip(widths, widths[1:]))
    kept = widths[0] + sum(widths[1:-1]) * (2 if activation == "gelu" else 1)
    states = {"SGD": 0, "momentum": 1, "Adam": 2}[optimizer]
    return [
        {
            "parameters": weights,
            "gradients": weights * (d == 0),
            "optimizer state": weights * states * (d == 0),
            "activations": 4 * rows / devices * kept,
            "outputs": 8 * rows * widths[-1] * (d == 0),
        }
        for d in range(devices)
    ]
