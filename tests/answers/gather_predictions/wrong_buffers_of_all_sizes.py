# finding: sizes_differ
# knows the lengths, makes buffers of the right sizes, and does not pad what is sent
def gather_predictions(predictions):
    n = dist.get_world_size()
    length = torch.tensor([len(predictions)])
    lengths = [torch.empty_like(length) for _ in range(n)]
    dist.all_gather(lengths, length)

    gathered = [predictions.new_empty(int(k)) for k in lengths]
    most = predictions.new_empty(int(max(lengths)))
    blocks = [torch.empty_like(predictions) for _ in range(n)]
    dist.all_gather(blocks, predictions)
    return torch.cat(blocks)
