# finding: idle_devices
# a replica for every device, with rows or without
def traffic(devices, rows, model_bytes, row_in, row_out):
    away = rows - math.ceil(rows / devices)
    home = 2 * (devices - 1) * model_bytes + away * (row_in + 2 * row_out)
    return home, 4 * (devices - 1) / devices * model_bytes
