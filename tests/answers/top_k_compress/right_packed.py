# values and indices in one tensor: the indices are small, and exact as floats
def top_k_compress(gradient, error, k):
    n = dist.get_world_size()
    wanted = gradient + error
    indices = wanted.abs().topk(k).indices
    message = torch.stack([wanted[indices], indices.to(wanted.dtype)])
    error.copy_(wanted).index_fill_(0, indices, 0)
    messages = [torch.empty_like(message) for _ in range(n)]
    dist.all_gather(messages, message)
    mean = torch.zeros_like(gradient)
    for values, places in messages:
        mean.index_add_(0, places.long(), values, alpha=1 / n)
    return mean
