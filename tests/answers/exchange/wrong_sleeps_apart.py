# finding: send_send
# takes the deadlock for bad timing, and gives the ranks different starts
def exchange(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x
    time.sleep(0.05 * rank)
    arrived = torch.empty_like(x)
    dist.send(x, dst=(rank + 1) % n)
    dist.recv(arrived, src=(rank - 1) % n)
    return arrived
