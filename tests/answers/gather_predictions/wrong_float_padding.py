# finding: wrong_dtype
# torch.zeros is float32, and so is what comes out
def gather_predictions(predictions):
    n = dist.get_world_size()
    length = torch.tensor([len(predictions)])
    lengths = [torch.empty_like(length) for _ in range(n)]
    dist.all_gather(lengths, length)

    padded = torch.zeros(int(max(lengths)))
    padded[: len(predictions)] = predictions
    gathered = [torch.empty_like(padded) for _ in range(n)]
    dist.all_gather(gathered, padded)
    return torch.cat([piece[: int(k)] for piece, k in zip(gathered, lengths)])
