# finding: sizes_differ
# C23: the program as it was found
def gather_predictions(predictions):
    n = dist.get_world_size()
    gathered = [torch.empty_like(predictions) for _ in range(n)]
    dist.all_gather(gathered, predictions)
    return torch.cat(gathered)
