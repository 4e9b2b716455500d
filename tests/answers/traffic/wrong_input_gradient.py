# finding: gradient_of_the_input
# sends gradients of the batch back
def traffic(devices, rows, model_bytes, row_in, row_out):
    size = math.ceil(rows / devices)
    others = math.ceil(rows / size) - 1
    away = rows - size
    home = 2 * others * model_bytes + 2 * away * (row_in + row_out)
    return home, 4 * (devices - 1) / devices * model_bytes
