# finding: not_a_pair
# forgets the ring
def traffic(devices, rows, model_bytes, row_in, row_out):
    return 2 * (devices - 1) * model_bytes
