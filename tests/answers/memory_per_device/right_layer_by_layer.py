KEPT = {"tanh": ("result",), "gelu": ("argument", "result")}


def memory_per_device(widths, rows, devices, optimizer, activation):
    layers = [nn.Linear(a, b, device="meta") for a, b in zip(widths, widths[1:])]
    model = sum(p.numel() * 4 for layer in layers for p in layer.parameters())
    pieces = [len(c) for c in torch.empty(rows).chunk(devices)]
    result = []
    for d in range(devices):
        n = pieces[d] if d < len(pieces) else 0
        activations = n * widths[0] * 4
        for width in widths[1:-1]:
            activations += n * width * 4 * len(KEPT[activation])
        result.append(
            {
                "parameters": model * (n > 0),
                "gradients": 0,
                "optimizer state": 0,
                "activations": activations,
                "outputs": 0,
            }
        )
    result[0]["gradients"] = model
    result[0]["optimizer state"] = model * ("SGD", "momentum", "Adam").index(optimizer)
    result[0]["outputs"] = rows * widths[-1] * 4 * 2 + 8
    return result
