# finding: dropped_values
# pads with -1, a number that "cannot" be a prediction
def gather_predictions(predictions):
    n = dist.get_world_size()
    length = torch.tensor([len(predictions)])
    lengths = [torch.empty_like(length) for _ in range(n)]
    dist.all_gather(lengths, length)

    padded = torch.full((int(max(lengths)),), -1, dtype=predictions.dtype)
    padded[: len(predictions)] = predictions
    gathered = [torch.empty_like(padded) for _ in range(n)]
    dist.all_gather(gathered, padded)
    everything = torch.cat(gathered)
    return everything[everything != -1]
