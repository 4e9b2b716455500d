# finding: only_with_rows
# a ring of the devices that have rows
def traffic(devices, rows, model_bytes, row_in, row_out):
    at_home = math.ceil(rows / devices)
    others = math.ceil(rows / at_home) - 1
    home = 2 * others * model_bytes + (rows - at_home) * (row_in + 2 * row_out)
    ring = 4 * ((others + 1) - 1) / (others + 1) * model_bytes
    return home, ring
