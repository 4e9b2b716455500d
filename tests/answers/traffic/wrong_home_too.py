# finding: home_counted
# counts home's own piece and replica
def traffic(devices, rows, model_bytes, row_in, row_out):
    home = 2 * devices * model_bytes + rows * (row_in + 2 * row_out)
    return home, 4 * (devices - 1) / devices * model_bytes
