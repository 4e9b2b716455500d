# finding: used_collective
# dist.reduce_scatter handed in
def reduce_scatter(chunks):
    total = torch.empty_like(chunks[0])
    dist.reduce_scatter(total, chunks)
    return total
