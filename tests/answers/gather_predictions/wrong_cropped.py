# finding: cropped
# agrees on the shortest length: nothing fails, and predictions are missing
def gather_predictions(predictions):
    n = dist.get_world_size()
    length = torch.tensor([len(predictions)])
    lengths = [torch.empty_like(length) for _ in range(n)]
    dist.all_gather(lengths, length)

    shortest = int(min(lengths))
    gathered = [predictions.new_empty(shortest) for _ in range(n)]
    dist.all_gather(gathered, predictions[:shortest].contiguous())
    return torch.cat(gathered)
