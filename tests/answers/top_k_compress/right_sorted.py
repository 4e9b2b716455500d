# by argsort and a mask; ranks are added one after the other
def top_k_compress(gradient, error, k):
    n = dist.get_world_size()
    wanted = gradient + error
    indices = wanted.abs().argsort(descending=True)[:k].contiguous()
    sent = torch.zeros_like(wanted)
    sent[indices] = wanted[indices]
    error.copy_(wanted - sent)
    values = sent[indices]
    gathered = [[torch.empty_like(t) for _ in range(n)] for t in (values, indices)]
    for pieces, mine in zip(gathered, (values, indices)):
        dist.all_gather(pieces, mine)
    mean = torch.zeros_like(gradient)
    for value, index in zip(*gathered):
        mean[index] += value / n
    return mean
