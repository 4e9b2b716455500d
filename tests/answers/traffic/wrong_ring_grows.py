# finding: grows
# sends everything in each round of the ring
def traffic(devices, rows, model_bytes, row_in, row_out):
    size = math.ceil(rows / devices)
    others = math.ceil(rows / size) - 1
    home = 2 * others * model_bytes + (rows - size) * (row_in + 2 * row_out)
    return home, 4 * (devices - 1) * model_bytes
