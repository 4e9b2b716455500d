# finding: wrong_type
# returns one stacked tensor, where a list was asked for
def all_gather(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    block = torch.zeros((n, *x.shape), dtype=x.dtype)
    block[rank] = x
    for step in range(n - 1):
        sending = dist.isend(block[(rank - step) % n], (rank + 1) % n)
        dist.recv(block[(rank - step - 1) % n], (rank - 1) % n)
        sending.wait()
    return block
