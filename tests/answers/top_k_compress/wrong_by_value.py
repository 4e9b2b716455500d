# finding: not_absolute
# the largest, not the largest in absolute value
def top_k_compress(gradient, error, k):
    n = dist.get_world_size()
    wanted = gradient + error
    values, indices = wanted.topk(k)
    error.copy_(wanted)
    error[indices] = 0
    all_values = [torch.empty_like(values) for _ in range(n)]
    all_indices = [torch.empty_like(indices) for _ in range(n)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_indices, indices)
    mean = torch.zeros_like(gradient)
    mean.index_add_(0, torch.cat(all_indices), torch.cat(all_values))
    return mean / n
