def traffic(devices, rows, model_bytes, row_in, row_out):
    size = -(-rows // devices)
    used = -(-rows // size)
    away = max(0, rows - size)
    out = (used - 1) * model_bytes + away * (row_in + row_out)
    into = (used - 1) * model_bytes + away * row_out
    return [out + into, 4 * model_bytes - 4 * model_bytes / devices]
