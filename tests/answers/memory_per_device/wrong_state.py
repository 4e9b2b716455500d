# finding: one_number
# Adam keeps one number for a weight
def memory_per_device(widths, rows, devices, optimizer, activation):
    weights = 4 * sum(a * b + b for a, b in zip(widths, widths[1:]))
    kept = widths[0] + sum(widths[1:-1]) * (2 if activation == "gelu" else 1)
    size = math.ceil(rows / devices)
    found = []
    for d in range(devices):
        here = max(0, min(size, rows - d * size))
        found.append(
            {
                "parameters": weights * (here > 0),
                "gradients": weights * (d == 0),
                "optimizer state": weights * (d == 0 and optimizer != "SGD"),
                "activations": 4 * here * kept,
                "outputs": 8 * rows * widths[-1] * (d == 0),
            }
        )
    return found
