# finding: used_collective
# dist.all_gather handed in
def all_gather(x):
    gathered = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, x)
    return gathered
