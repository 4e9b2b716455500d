# after each round, twice as many ranks have the data
def broadcast_tree(x: torch.Tensor, src: int) -> None:
    rank, n = dist.get_rank(), dist.get_world_size()
    relative = (rank - src) % n
    have = 1
    while have < n:
        if relative < have:
            if relative + have < n:
                dist.send(x, (rank + have) % n)
        elif relative < 2 * have:
            dist.recv(x, (rank - have) % n)
        have *= 2
