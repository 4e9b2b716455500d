# finding: one_way
# forgets that gradients come back
def traffic(devices, rows, model_bytes, row_in, row_out):
    size = math.ceil(rows / devices)
    others = math.ceil(rows / size) - 1
    away = rows - size
    home = others * model_bytes + away * (row_in + 2 * row_out)
    return home, 4 * (devices - 1) / devices * model_bytes
