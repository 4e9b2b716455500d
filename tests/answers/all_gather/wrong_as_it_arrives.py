# finding: wrong_order
# a ring in the order of arrival: entry 0 is the rank's own
def all_gather(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    gathered = [x.clone()]
    for _ in range(n - 1):
        arrived = torch.empty_like(x)
        sending = dist.isend(gathered[-1], dst=(rank + 1) % n)
        dist.recv(arrived, src=(rank - 1) % n)
        sending.wait()
        gathered.append(arrived)
    return gathered
