# lengths first, then a broadcast from each rank into a tensor of its length
def gather_predictions(predictions: torch.Tensor) -> torch.Tensor:
    rank, n = dist.get_rank(), dist.get_world_size()
    lengths = torch.zeros(n, dtype=torch.int64, device=predictions.device)
    lengths[rank] = len(predictions)
    dist.all_reduce(lengths)
    pieces = []
    for source, length in enumerate(lengths.tolist()):
        piece = predictions.new_empty(length)
        if source == rank:
            piece.copy_(predictions)
        if length:
            dist.broadcast(piece, src=source)
        pieces.append(piece)
    return torch.cat(pieces)
