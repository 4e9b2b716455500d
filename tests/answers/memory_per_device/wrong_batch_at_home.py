# finding: whole_batch_at_home
# counts the whole batch at home
def memory_per_device(widths, rows, devices, optimizer, activation):
    weights = 4 * sum(a * b + b for a, b in zip(widths, widths[1:]))
    kept = widths[0] + sum(widths[1:-1]) * (2 if activation == "gelu" else 1)
    states = {"SGD": 0, "momentum": 1, "Adam": 2}[optimizer]
    size = math.ceil(rows / devices)
    found = []
    for d in range(devices):
        here = max(0, min(size, rows - d * size))
        found.append(
            {
                "parameters": weights if here else 0,
                "gradients": weights * (d == 0),
                "optimizer state": weights * states * (d == 0),
                "activations": 4 * (here * kept + (rows - here) * widths[0] * (d == 0)),
                "outputs": 8 * rows * widths[-1] * (d == 0),
            }
        )
    return found
