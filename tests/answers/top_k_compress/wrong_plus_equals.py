# finding: overwritten
# the same with +=, which reads all old values before it writes
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
    mean[torch.cat(all_indices)] += torch.cat(all_values)
    return mean / n
