# finding: gradients_everywhere
# predicts DDP: everybody has everything
def memory_per_device(widths, rows, devices, optimizer, activation):
    weights = sum(a * b + b for a, b in zip(widths, widths[1:]))
    kept = widths[0] + sum(widths[1:-1]) * (2 if activation == "gelu" else 1)
    states = {"SGD": 0, "momentum": 1, "Adam": 2}[optimizer]
    size = math.ceil(rows / devices)
    found = []
    for d in range(devices):
        here = max(0, min(size, rows - d * size))
        used = here > 0
        found.append(
            {
                "parameters": 4 * weights * used,
                "gradients": 4 * weights * used,
                "optimizer state": 4 * states * weights * used,
                "activations": 4 * here * kept,
                "outputs": 8 * here * widths[-1],
            }
        )
    return found
