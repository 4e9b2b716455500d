def memory_per_device(widths, rows, devices, optimizer, activation):
    with gpus(devices, "2 GiB", compute=False) as machine:
        layers = [nn.Linear(widths[0], widths[1])]
        for a, b in zip(widths[1:], widths[2:]):
            layers += [nn.Tanh() if activation == "tanh" else nn.GELU(), nn.Linear(a, b)]
        model = nn.Sequential(*layers).to(machine[0])
        if optimizer == "Adam":
            steps = torch.optim.Adam(model.parameters(), foreach=False)
        else:
            momentum = 0.9 if optimizer == "momentum" else 0
            steps = torch.optim.SGD(model.parameters(), lr=0.1, momentum=momentum)
        during = []
        model.register_forward_hook(lambda *_: during.append(memory_by_kind()))
        parallel = nn.DataParallel(model, list(range(devices)))
        output = parallel(torch.zeros(rows, widths[0]))
        target = torch.zeros(rows, dtype=torch.long, device=machine[0])
        loss = F.cross_entropy(output, target)
        before = memory_by_kind()
        loss.backward()
        steps.step()
        after = memory_by_kind()
        result = []
        for d in machine:
            entry = {k: before[d][k] for k in ("activations", "outputs")}
            entry["parameters"] = during[-1][d]["parameters"]
            entry |= {k: after[d][k] for k in ("gradients", "optimizer state")}
            result.append(entry)
        return result
