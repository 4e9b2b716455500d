# finding: too_many_bytes
# n rounds where n - 1 are enough
def all_gather(x: torch.Tensor) -> list[torch.Tensor]:
    """Return all ranks' x: entry i is rank i's, on every rank.

    Only point-to-point messages, and each rank sends n - 1 tensors like x.

    Args:
        x: contiguous, of any shape and dtype, the same on all ranks. It is not changed.

    Returns:
        n different tensors.
    """
    rank, n = dist.get_rank(), dist.get_world_size()
    gathered = [torch.empty_like(x) for _ in range(n)]
    gathered[rank].copy_(x)
    for step in range(n if n > 1 else 0):  # a ring: pass on what arrived last
        sending = dist.isend(gathered[(rank - step) % n], dst=(rank + 1) % n)
        dist.recv(gathered[(rank - step - 1) % n], src=(rank - 1) % n)
        sending.wait()
    return gathered