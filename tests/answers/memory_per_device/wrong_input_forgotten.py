# finding: input_forgotten
# what the first layer keeps is missing
def memory_per_device(widths, rows, devices, optimizer, activation):
    weights = 4 * sum(a * b + b for a, b in zip(widths, widths[1:]))
    states = {"SGD": 0, "momentum": 1, "Adam": 2}[optimizer]
    pieces = [len(c) for c in torch.empty(rows).chunk(devices)] + [0] * devices
    return [
        {
            "parameters": weights * (pieces[d] > 0),
            "gradients": weights * (d == 0),
            "optimizer state": weights * states * (d == 0),
            "activations": 4 * pieces[d] * sum(widths[1:-1]) * (1 + (activation == "gelu")),
            "outputs": 8 * rows * widths[-1] * (d == 0),
        }
        for d in range(devices)
    ]
