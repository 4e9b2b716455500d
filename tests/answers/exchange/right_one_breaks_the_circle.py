# only rank 0 receives first: no deadlock, though the messages travel one after the other
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    arrived = x.clone()
    steps = [lambda: dist.send(x, (rank + 1) % n), lambda: dist.recv(arrived, (rank - 1) % n)]
    if rank == 0:
        steps.reverse()
    for step in steps if n > 1 else []:
        step()
    return arrived
