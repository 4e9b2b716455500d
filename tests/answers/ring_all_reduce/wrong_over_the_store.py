# finding: too_few_bytes
# the numbers go through the rendezvous store; not one message is sent
def ring_all_reduce(x):
    import json

    rank, n = dist.get_rank(), dist.get_world_size()
    store = dist.distributed_c10d._get_default_store()
    store.set(f"x{rank}", json.dumps(x.tolist()))
    everybody = [torch.tensor(json.loads(store.get(f"x{r}")), dtype=x.dtype) for r in range(n)]
    return sum(everybody)
