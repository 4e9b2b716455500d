# finding: send_send
# C25: each rank goes through the others from 0 on, and sends first
def all_to_all(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    result = [chunk.clone() for chunk in chunks]
    for r in range(n):
        if r != rank:
            dist.send(chunks[r], r)
            dist.recv(result[r], r)
    return result
