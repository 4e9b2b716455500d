def traffic(devices, rows, model_bytes, row_in, row_out):
    pieces = [len(c) for c in torch.empty(rows).chunk(devices)]
    through_home = 0
    for piece in pieces[1:]:
        through_home += model_bytes + piece * row_in  # forward: out
        through_home += piece * row_out  # forward: in
        through_home += piece * row_out  # backward: out
        through_home += model_bytes  # backward: in
    chunk = model_bytes / devices
    rounds = 2 * (devices - 1)
    return through_home, 2 * chunk * rounds
