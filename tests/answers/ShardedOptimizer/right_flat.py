# a flat shard of all parameters, cut in the middle of some: the real ZeRO
class ShardedOptimizer:
    def __init__(self, params, optimizer_class, **options):
        self.params = list(params)
        self.rank, n = dist.get_rank(), dist.get_world_size()
        self.numel = sum(p.numel() for p in self.params)
        self.each = -(-self.numel // n)
        self.shard = nn.Parameter(self._piece([p.detach() for p in self.params]))
        self.optimizer = optimizer_class([self.shard], **options)

    def _piece(self, tensors):
        flat = torch.cat([t.reshape(-1) for t in tensors])
        flat = F.pad(flat, (0, self.each * dist.get_world_size() - self.numel))
        return flat[self.rank * self.each : (self.rank + 1) * self.each].clone()

    def zero_grad(self):
        for p in self.params:
            p.grad = None

    def step(self):
        self.shard.grad = self._piece([p.grad for p in self.params])
        self.optimizer.step()
        pieces = [torch.empty_like(self.shard.data) for _ in range(dist.get_world_size())]
        dist.all_gather(pieces, self.shard.data)
        flat = torch.cat(pieces)[: self.numel]
        for p, piece in zip(self.params, flat.split([p.numel() for p in self.params])):
            p.data.copy_(piece.view_as(p))
