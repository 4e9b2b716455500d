# finding: used_collective
# sums the data of src and zeros of the others
def broadcast_tree(x, src):
    if dist.get_rank() != src:
        x.zero_()
    dist.all_reduce(x)
