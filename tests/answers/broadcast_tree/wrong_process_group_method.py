# finding: no_messages
# the library's broadcast, called past the functions that are recorded
def broadcast_tree(x, src):
    options = dist.BroadcastOptions()
    options.rootRank = src
    dist.group.WORLD.broadcast([x], options).wait()
