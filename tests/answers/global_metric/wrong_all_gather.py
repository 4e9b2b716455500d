# finding: sizes_differ
# gathers shards of different sizes (C23)
def global_metric(values, indices, size):
    parts = [torch.empty_like(values) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, values)
    return torch.cat(parts).mean().item()
