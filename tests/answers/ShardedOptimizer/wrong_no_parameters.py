# finding: exception
# makes an optimizer where this rank owns nothing
class ShardedOptimizer:
    def __init__(self, params, optimizer_class, **options):
        self.params = list(params)
        n, rank = dist.get_world_size(), dist.get_rank()
        load = [0] * n
        self.owner = []
        for p in self.params:
            r = load.index(min(load))
            self.owner.append(r)
            load[r] += p.numel()
        mine = [p for p, r in zip(self.params, self.owner) if r == rank]
        self.optimizer = optimizer_class(mine, **options)

    def zero_grad(self) -> None:
        for p in self.params:
            p.grad = None

    def step(self) -> None:
        if self.optimizer is not None:
            self.optimizer.step()
        for p, r in zip(self.params, self.owner):
            dist.broadcast(p.data, r)
