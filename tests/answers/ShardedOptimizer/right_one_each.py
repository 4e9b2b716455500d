# an optimizer for each parameter; all broadcasts at once
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
        self.local = [optimizer_class([p], **options) for p in self.mine]

    def zero_grad(self):
        for p in self.params:
            if p.grad is not None:
                p.grad.zero_()

    @torch.no_grad()
    def step(self):
        for optimizer in self.local:
            optimizer.step()
        works = [dist.broadcast(p.data, owner, async_op=True) for p, owner in zip(self.params, self.owners)]
        for work in works:
            work.wait()
