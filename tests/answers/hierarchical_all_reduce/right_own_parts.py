# every rank takes its own part of the tensor across: reduce-scatter, all-reduce, all-gather
def hierarchical_all_reduce(x: torch.Tensor, ranks_per_node: int) -> torch.Tensor:
    rank, n = dist.get_rank(), dist.get_world_size()
    node, local = rank // ranks_per_node, rank % ranks_per_node
    for first in range(0, n, ranks_per_node):
        members = list(range(first, first + ranks_per_node))
        group = dist.new_group(members)
        if rank in members:
            within = group
    for k in range(ranks_per_node):
        members = list(range(k, n, ranks_per_node))
        group = dist.new_group(members)
        if rank in members:
            across = group
    total = x.clone()
    parts = total.view(-1).tensor_split(ranks_per_node)
    first = node * ranks_per_node
    for k, part in enumerate(parts):
        if part.numel():
            dist.reduce(part, dst=first + k, group=within)
    if parts[local].numel():
        dist.all_reduce(parts[local], group=across)
    for k, part in enumerate(parts):
        if part.numel():
            dist.broadcast(part, src=first + k, group=within)
    return total
