# finding: not_zeroed
# zero_grad of the own part only: the other gradients add up
class ShardedOptimizer:
    def __init__(self, params, optimizer_class, **options):
        self.params = [p for p in params]
        self.rank, self.n = dist.get_rank(), dist.get_world_size()
        sizes = [0] * self.n
        self.owners = []
        for p in self.params:
            owner = min(range(self.n), key=lambda r: sizes[r])
            sizes[owner] += p.numel()
            self.owners.append(owner)
        self.mine = [p for p, owner in zip(self.params, self.owners) if owner == self.rank]
        if self.mine:
            self.local = optimizer_class(self.mine, **options)

    def zero_grad(self):
        if self.mine:
            self.local.zero_grad()

    @torch.no_grad()
    def step(self):
        if self.mine:
            self.local.step()
        for p, owner in zip(self.params, self.owners):
            dist.broadcast(p, src=owner)
