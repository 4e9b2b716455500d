# finding: wrong_type
# answers another question: which of the two is faster for large tensors
def crossover(n, alpha, beta):
    return "ring" if n > 3 else "tree"
