# finding: no_biases
# weights without biases
def memory_per_device(widths, rows, devices, optimizer, activation):
    weights = 4 * sum(a * b for a, b in zip(widths, widths[1:]))
    pieces = [len(c) for c in torch.empty(rows).chunk(devices)] + [0] * devices
    return [
        {
            "parameters": weights * (pieces[d] > 0),
            "gradients": weights * (d == 0) * devices,
            "optimizer state": 0,
            "activations": 0,
            "outputs": 8 * pieces[d] * widths[-1],
        }
        for d in range(devices)
    ]
