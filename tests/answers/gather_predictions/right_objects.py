# MUST-ACCEPT: pickles of any length; slow, and right
def gather_predictions(predictions):
    pieces = [None] * dist.get_world_size()
    dist.all_gather_object(pieces, predictions.cpu())
    return torch.cat(pieces).to(predictions)
