# finding: exception
# a rank that is alone has no neighbour to send to
def exchange_async(x, compute):
    rank, n = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(x)
    sending = dist.isend(x, dst=(rank + 1) % n)
    receiving = dist.irecv(arrived, src=(rank - 1) % n)
    computed = compute()
    sending.wait()
    receiving.wait()
    x += computed + arrived
