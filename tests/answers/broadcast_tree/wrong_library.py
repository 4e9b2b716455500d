# finding: used_collective
# dist.broadcast itself
def broadcast_tree(x, src):
    dist.broadcast(x, src)
