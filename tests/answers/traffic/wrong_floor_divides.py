# finding: rows_rounded_down
# rounds the size of a piece down, and divides by it
def traffic(devices, rows, model_bytes, row_in, row_out):
    at_home = rows // devices
    others = min(devices, rows // at_home) - 1
    home = 2 * others * model_bytes + (rows - at_home) * (row_in + 2 * row_out)
    ring = 4 * (devices - 1) / devices * model_bytes
    return home, ring
