# finding: model_only
# forgets the rows
def traffic(devices, rows, model_bytes, row_in, row_out):
    others = len(torch.empty(rows).chunk(devices)) - 1
    return 2 * others * model_bytes, 4 * (devices - 1) / devices * model_bytes
