# finding: starts_late
# the send is started early and the receive is not, so that it has no partner meanwhile
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        x += compute()
        return
    right, left = (rank + 1) % n, (rank - 1) % n

    sending = dist.isend(x, dst=right)
    computed = compute()
    arrived = torch.empty_like(x)
    dist.recv(arrived, src=left)
    sending.wait()
    x += computed + arrived
