# finding: not_reset
# the handles are set back and the counters are not: from the second step on all leaves in finish()
class BucketedDDP(nn.Module):
    def __init__(self, module, bucket_mb=25.0):
        super().__init__()
        self.module = module
        for t in [*module.parameters(), *module.buffers()]:
            dist.broadcast(t.detach(), src=0)
        self.buckets = [[]]
        size = 0
        for p in reversed(list(module.parameters())):
            if not p.requires_grad:
                continue
            more = p.numel() * p.element_size()
            if self.buckets[-1] and size + more > bucket_mb * 1024 * 1024:
                self.buckets.append([])
                size = 0
            self.buckets[-1].append(p)
            size += more
        self.where = {p: b for b, bucket in enumerate(self.buckets) for p in bucket}
        self.ready = [0] * len(self.buckets)
        self.works = []
        for p in self.where:
            p.register_post_accumulate_grad_hook(self.hook)

    def hook(self, p):
        b = self.where[p]
        self.ready[b] += 1
        while len(self.works) < len(self.buckets) and self.complete(len(self.works)):
            self.send(len(self.works))

    def complete(self, b):
        return self.ready[b] == len(self.buckets[b])

    def send(self, b):
        for p in self.buckets[b]:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        flat = torch.cat([p.grad.flatten() for p in self.buckets[b]]) / dist.get_world_size()
        self.works.append((b, flat, dist.all_reduce(flat, async_op=True)))

    def forward(self, *args):
        return self.module(*args)

    def finish(self):
        sent = {b for b, _, _ in self.works}
        for b in range(len(self.buckets)):
            if b not in sent:
                self.send(b)
        for b, flat, work in self.works:
            work.wait()
            for p, piece in zip(self.buckets[b], flat.split([p.numel() for p in self.buckets[b]])):
                p.grad = piece.view_as(p)
        self.works = []
