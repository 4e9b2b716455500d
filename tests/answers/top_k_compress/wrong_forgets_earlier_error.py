# finding: error_forgets
# keeps the rest of this gradient only
def top_k_compress(gradient, error, k):
    n = dist.get_world_size()
    wanted = gradient + error
    indices = wanted.abs().topk(k).indices
    values = wanted[indices]
    error.copy_(gradient)
    error[indices] -= values
    all_values = [torch.empty_like(values) for _ in range(n)]
    all_indices = [torch.empty_like(indices) for _ in range(n)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_indices, indices)
    mean = torch.zeros_like(gradient)
    mean.index_add_(0, torch.cat(all_indices), torch.cat(all_values))
    return mean / n
