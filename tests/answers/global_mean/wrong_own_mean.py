# finding: own_mean
# nothing is exchanged
def global_mean(values):
    return values.double().mean().item()
