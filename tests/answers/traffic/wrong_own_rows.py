# finding: own_rows_counted
# sends home's own rows, too
def traffic(devices, rows, model_bytes, row_in, row_out):
    at_home = math.ceil(rows / devices)
    others = math.ceil(rows / at_home) - 1
    home = 2 * others * model_bytes + rows * (row_in + 2 * row_out)
    ring = 4 * (devices - 1) / devices * model_bytes
    return home, ring
