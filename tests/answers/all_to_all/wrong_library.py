# finding: used_collective
# dist.all_to_all_single handed in
def all_to_all(chunks):
    sent = torch.stack(chunks)
    result = torch.empty_like(sent)
    dist.all_to_all_single(result, sent)
    return list(result)
