# finding: not_the_data
# Hillis and Steele's scan: each rank sends in every round, whether it has the data or not
def broadcast_tree(x, src):
    rank, n = dist.get_rank(), dist.get_world_size()
    step = 1
    while step < n:
        arrived = torch.empty_like(x)
        sending = dist.isend(x.clone(), (rank + step) % n)
        dist.recv(arrived, (rank - step) % n)
        sending.wait()
        if rank != src:
            x.copy_(arrived)
        step *= 2
