# finding: order_of_completion
# starts each bucket when it is complete, whatever is with those before it
class BucketedDDP(nn.Module):
    def __init__(self, module: nn.Module, bucket_mb: float = 25.0) -> None:
        super().__init__()
        self.module = module
        for t in [*module.parameters(), *module.buffers()]:
            dist.broadcast(t.data, 0)
        limit = bucket_mb * 1024 * 1024
        self.buckets, size = [], 0
        for p in reversed([p for p in module.parameters() if p.requires_grad]):
            if not self.buckets or size + p.nbytes > limit:
                self.buckets.append([])
                size = 0
            self.buckets[-1].append(p)
            size += p.nbytes
        self.bucket_of = {p: i for i, b in enumerate(self.buckets) for p in b}
        self._reset()
        for p in self.bucket_of:
            p.register_post_accumulate_grad_hook(self._ready)

    def _reset(self):
        self.missing = [len(b) for b in self.buckets]
        self.work = {}

    def _ready(self, p):
        i = self.bucket_of[p]
        self.missing[i] -= 1
        if self.missing[i] == 0:
            self._start(i)

    def _start(self, i):
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in self.buckets[i]])
        self.work[i] = (dist.all_reduce(flat, async_op=True), flat)

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def finish(self) -> None:
        for i in range(len(self.buckets)):
            if i not in self.work:
                self._start(i)
        for i, b in enumerate(self.buckets):
            work, flat = self.work[i]
            work.wait()
            flat /= dist.get_world_size()
            for p, piece in zip(b, flat.split([p.numel() for p in b])):
                p.grad = piece.view_as(p)
        self._reset()
