# finding: wrong_value
# all values are gathered, and written at this rank's indices
def top_k_compress(gradient, error, k):
    n = dist.get_world_size()
    wanted = gradient + error
    indices = wanted.abs().topk(k).indices
    values = wanted[indices]
    error.copy_(wanted)
    error[indices] = 0
    all_values = [torch.empty_like(values) for _ in range(n)]
    all_indices = [torch.empty_like(indices) for _ in range(n)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_indices, indices)
    mean = torch.zeros_like(gradient)
    for v in all_values:
        mean.index_add_(0, indices, v)
    return mean / n
