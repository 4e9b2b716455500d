# finding: no_error_feedback
# the rest is kept, and never sent
def top_k_compress(gradient, error, k):
    n = dist.get_world_size()
    wanted = gradient.clone()
    indices = wanted.abs().topk(k).indices
    values = wanted[indices]
    error.copy_(wanted)
    error[indices] = 0
    all_values = [torch.empty_like(values) for _ in range(n)]
    all_indices = [torch.empty_like(indices) for _ in range(n)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_indices, indices)
    mean = torch.zeros_like(gradient)
    mean.index_add_(0, torch.cat(all_indices), torch.cat(all_values))
    return mean / n
