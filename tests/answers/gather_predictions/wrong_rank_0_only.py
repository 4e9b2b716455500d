# finding: not_everywhere
# gather to rank 0
def gather_predictions(predictions):
    n = dist.get_world_size()
    length = torch.tensor([len(predictions)])
    lengths = [torch.empty_like(length) for _ in range(n)]
    dist.all_gather(lengths, length)

    padded = predictions.new_zeros(int(max(lengths)))
    padded[: len(predictions)] = predictions
    if dist.get_rank() > 0:
        dist.gather(padded, dst=0)
        return None
    gathered = [torch.empty_like(padded) for _ in range(n)]
    dist.gather(padded, gathered, dst=0)
    return torch.cat([piece[: int(k)] for piece, k in zip(gathered, lengths)])
