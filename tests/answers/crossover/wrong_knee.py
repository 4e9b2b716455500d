# finding: bound
# where a single message's latency and bandwidth cost the same
def crossover(n, alpha, beta):
    return alpha / beta
