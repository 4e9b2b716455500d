# finding: one_direction
# what a device of the ring sends, and not what it receives
def traffic(devices, rows, model_bytes, row_in, row_out):
    size = math.ceil(rows / devices)
    others = math.ceil(rows / size) - 1
    home = 2 * others * model_bytes + (rows - size) * (row_in + 2 * row_out)
    return home, 2 * (devices - 1) / devices * model_bytes
