# finding: wrong_type
# returns what was sent, and not a dense tensor
def top_k_compress(gradient, error, k):
    wanted = gradient + error
    indices = wanted.abs().topk(k).indices
    values = wanted[indices]
    error.copy_(wanted)
    error[indices] = 0
    return values, indices
