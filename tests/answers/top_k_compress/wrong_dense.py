# finding: too_many_bytes
# an all-reduce of a tensor that is mostly zeros
def top_k_compress(gradient, error, k):
    wanted = gradient + error
    indices = wanted.abs().topk(k).indices
    sent = torch.zeros_like(wanted)
    sent[indices] = wanted[indices]
    error.copy_(wanted - sent)
    dist.all_reduce(sent)
    return sent / dist.get_world_size()
