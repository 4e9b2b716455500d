# finding: rows_shared_evenly
# cuts rows evenly
def traffic(devices, rows, model_bytes, row_in, row_out):
    away = rows * (devices - 1) / devices
    home = 2 * (devices - 1) * model_bytes + away * (row_in + 2 * row_out)
    return home, 4 * (devices - 1) / devices * model_bytes
