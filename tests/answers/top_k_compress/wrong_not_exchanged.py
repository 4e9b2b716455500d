# finding: not_exchanged
# nobody sends anything
def top_k_compress(gradient, error, k):
    wanted = gradient + error
    indices = wanted.abs().topk(k).indices
    mean = torch.zeros_like(gradient)
    mean[indices] = wanted[indices] / dist.get_world_size()
    error.copy_(wanted)
    error[indices] = 0
    return mean
