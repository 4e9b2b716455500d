# finding: exception
# C27: one tensor for all lengths: every rank takes the last rank's for the longest
def gather_predictions(predictions):
    n = dist.get_world_size()
    length = torch.tensor([len(predictions)])
    lengths = [torch.empty_like(length)] * n
    dist.all_gather(lengths, length)
    padded = predictions.new_zeros(int(max(lengths)))
    padded[: len(predictions)] = predictions
    gathered = [torch.empty_like(padded) for _ in range(n)]
    dist.all_gather(gathered, padded)
    return torch.cat([piece[: int(k)] for piece, k in zip(gathered, lengths)])
