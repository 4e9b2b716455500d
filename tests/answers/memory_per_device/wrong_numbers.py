# finding: numbers_not_bytes
# counts numbers
def memory_per_device(widths, rows, devices, optimizer, activation):
    weights = sum(a * b + b for a, b in zip(widths, widths[1:]))
    kept = widths[0] + sum(widths[1:-1]) * (2 if activation == "gelu" else 1)
    states = {"SGD": 0, "momentum": 1, "Adam": 2}[optimizer]
    pieces = [len(c) for c in torch.empty(rows).chunk(devices)] + [0] * devices
    return [
        {
            "parameters": weights * (pieces[d] > 0),
            "gradients": weights * (d == 0),
            "optimizer state": weights * states * (d == 0),
            "activations": pieces[d] * kept,
            "outputs": 2 * rows * widths[-1] * (d == 0),
        }
        for d in range(devices)
    ]
