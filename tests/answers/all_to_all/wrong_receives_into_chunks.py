# finding: input_changed
# one list for both directions: what arrives replaces what is still to be sent
def all_to_all(chunks):
    rank, n = dist.get_rank(), dist.get_world_size()
    for shift in range(1, n):
        sending = dist.isend(chunks[(rank + shift) % n].clone(), (rank + shift) % n)
        dist.recv(chunks[(rank - shift) % n], (rank - shift) % n)
        sending.wait()
    return chunks
