# finding: local
# each rank its own
def global_metric(values, indices, size):
    return values.mean().item()
