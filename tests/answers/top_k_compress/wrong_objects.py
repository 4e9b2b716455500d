# finding: not_counted
# pickles, which are longer than the gradient
def top_k_compress(gradient, error, k):
    n = dist.get_world_size()
    wanted = gradient + error
    indices = wanted.abs().topk(k).indices
    everybody = [None] * n
    dist.all_gather_object(everybody, (indices.tolist(), wanted[indices].tolist()))
    error.copy_(wanted)
    error[indices] = 0
    mean = torch.zeros_like(gradient)
    for places, values in everybody:
        for i, v in zip(places, values):
            mean[i] += v / n
    return mean
