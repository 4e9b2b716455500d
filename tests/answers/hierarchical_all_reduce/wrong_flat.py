# finding: flat
# dist.all_reduce over everybody
def hierarchical_all_reduce(x, ranks_per_node):
    total = x.clone()
    dist.all_reduce(total)
    return total
