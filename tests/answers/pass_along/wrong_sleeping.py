# finding: not_a_ring
# each rank sleeps until its turn; the sums come over the store, so nothing orders the prints
def pass_along(number):
    rank, n = dist.get_rank(), dist.get_world_size()
    store = dist.distributed_c10d._get_default_store()
    store.set(f"number {rank}", str(number.item()))
    numbers = [int(store.get(f"number {r}")) for r in range(n)]
    time.sleep(0.05 * rank)
    print(f"rank {rank}: {sum(numbers[: rank + 1])}")
    return sum(numbers[: rank + 1]) if rank else sum(numbers)
